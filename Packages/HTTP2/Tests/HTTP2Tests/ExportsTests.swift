import HPACK
import HTTP2
import HTTPMessage
import Testing

@Test func exportsMessagesAndHeaderCompression() {
    #expect(HTTPVersion.http20.major == 2)
    #expect(HPACKFields().isEmpty)
}
