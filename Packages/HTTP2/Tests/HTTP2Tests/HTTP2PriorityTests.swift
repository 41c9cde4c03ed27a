import Testing

@testable import HTTP2

struct HTTP2PriorityTests {
    @Test(arguments: [
        ("", 3, false), ("u=0", 0, false), ("u=7,i", 7, true), ("i", 3, true), ("i=?0, u=4", 4, false),
        ("u=1, i=?1", 1, true), (" u=2 ,\ti ", 2, true), ("u=1, u=5", 5, false), ("u=8", 3, false), ("u=-1", 3, false),
        ("u=1.0", 3, false), ("u=\"1\"", 3, false), ("i=1", 3, false), ("u=1;x=2;y, i;z=?0", 1, true),
        ("a=(1 2;q \"x\");b, u=2", 2, false), ("a=:YQ==:, b=@12, c=tok/en:x, d=*, e=\"\\\"\", u=6", 6, false),
        ("u=5, i, x=()", 5, true),
        ("x=a!#$%&'*+-.^_`|~:/09AZaz, u=1", 1, false), ("x=*, y=A;z, u=1", 1, false), ("u=1, u=9", 3, false),
        ("i, i=2", 3, false), ("u=1, x=%\"f%c3%bc r\", i", 1, true),
    ])
    func dictionaries(_ text: String, _ urgency: Int, _ isIncremental: Bool) {
        #expect(HTTP2Priority(text) == HTTP2Priority(urgency: urgency, isIncremental: isIncremental))
    }

    @Test(arguments: [
        "u=1,", "u=1,,i", "u=1 i", "U=1", "=1", "u=", "u=1;", "i=?", "i=?2", "u=(1", "u=\"1", "u=:a", "u=1.",
        "u=1.1234",
        "u=1234567890123456", "u=@x", "x=a\\", "x=a(b", "x=/a", "x=!a", "u=\"\\a\"", "u=1, \u{1}", "é", "u=1;=2",
        "u=(1\"a\")", "x=%", "x=%\"",
        "x=%\"%C3%BC\"", "x=%\"%ff\"", "x=%\"%c\"", "x=%\"é\"",
    ])
    func anythingElseIsIgnoredAsAWhole(_ text: String) {
        #expect(HTTP2Priority("u=1, i") != HTTP2Priority())
        #expect(HTTP2Priority(text) == HTTP2Priority())
        #expect(HTTP2Priority("u=2, i, " + text) == HTTP2Priority())
    }

    @Test func valuesRoundTrip() {
        for urgency in 0...7 {
            for isIncremental in [true, false] {
                let priority = HTTP2Priority(urgency: urgency, isIncremental: isIncremental)
                #expect(HTTP2Priority(priority.fieldValue) == priority)
            }
        }
        #expect(HTTP2Priority().fieldValue.isEmpty)
    }
}
