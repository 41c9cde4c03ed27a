import Testing

@testable import FTPStream

struct FTPPatternTests {
    @Test(arguments: [
        ("*", "a", true), ("*", "", true), ("*", ".a", false), (".*", ".a", true), ("*.txt", "a.txt", true),
        ("*.txt", "a.txt.gz", false), ("a*b*c", "abbbc", true), ("a*b*c", "acb", false), ("?", "é", true),
        ("?", "ab", false), ("??", "é!", true), ("a\\*", "a*", true), ("a\\*", "ab", false), ("**", "abc", true),
        ("*a", "aaa", true), ("a?", "a", false), ("", "a", false),
    ])
    func matching(_ pattern: String, _ name: String, _ isMatch: Bool) {
        let component = FTPPattern(bytes: Array(pattern.utf8)).components.first ?? []
        #expect(FTPPattern.matches(Array(name.utf8), component) == isMatch)
    }

    /// The time does not grow exponentially.
    @Test func manyWildcards() {
        let component = FTPPattern(bytes: Array((String(repeating: "*a", count: 50) + "b").utf8)).components[0]
        #expect(!FTPPattern.matches([UInt8](repeating: UInt8(ascii: "a"), count: 2000), component))
    }

    @Test func components() {
        let pattern: FTPPattern = "/pub//19?/\\*.txt/"
        #expect(pattern.hasWildcards && pattern.root == "/" && pattern.components.count == 3)
        #expect(FTPPattern.literal(pattern.components[2]) == Array("*.txt".utf8))
        #expect(!FTPPattern(bytes: []).hasWildcards && FTPPattern(bytes: []).root == "")
    }
}
