import HTTP2
import Testing

/// This file imports no other module of ours.
@Test func exportsMessagesAndHeaderCompression() {
    #expect(HTTPVersion.http20.major == 2)
    #expect(HPACKFields().isEmpty)
}
