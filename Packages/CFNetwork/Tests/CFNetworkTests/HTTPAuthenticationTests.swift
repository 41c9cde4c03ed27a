import CFNetwork
import Testing

@testable import CFNetworkEngine

/// CFHTTPAuthentication in Swift, as sources for Apple's systems use it. The program in C tests its behaviour.
struct HTTPAuthenticationTests {
    private func authentication() -> CFHTTPAuthentication {
        let response = CFHTTPMessageCreateEmpty(nil, false).takeRetainedValue()
        let bytes = Array("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\n\r\n".utf8)
        CFHTTPMessageAppendBytes(response, bytes, bytes.count)
        return CFHTTPAuthenticationCreateFromResponse(kCFAllocatorDefault, response).takeRetainedValue()
    }

    private func request() -> CFHTTPMessage {
        let url = URL(string: "http://example.org/a")! as CFURL
        return CFHTTPMessageCreateRequest(nil, "GET" as CFString, url, kCFHTTPVersion1_1).takeRetainedValue()
    }

    @Test func sourceAsOnApplesSystems() {
        let auth = authentication()
        var error = CFStreamError()
        #expect(CFHTTPAuthenticationIsValid(auth, &error))
        #expect(CFHTTPAuthenticationCopyMethod(auth).takeRetainedValue() as String == "Basic")
        let message = request()
        #expect(!CFHTTPAuthenticationAppliesToRequest(auth, message))  // the URL of the response is unknown
        let credentials =
            [kCFHTTPAuthenticationUsername: "joe", kCFHTTPAuthenticationPassword: "secret"] as CFDictionary
        #expect(CFHTTPMessageApplyCredentialDictionary(message, auth, credentials, &error))
        let value = CFHTTPMessageCopyHeaderFieldValue(message, "Authorization" as CFString)?.takeRetainedValue()
        #expect(value as String? == "Basic am9lOnNlY3JldA==")
    }

    @Test func objectsAreDeallocated() {
        weak var gone: HTTPAuthenticationState?
        do {
            let auth = authentication()
            gone = state(of: auth)
            let message = request()
            #expect(CFHTTPMessageApplyCredentials(message, auth, "joe" as CFString, "secret" as CFString, nil))
            let stream = CFReadStreamCreateForHTTPRequest(nil, message).takeRetainedValue()
            #expect(CFReadStreamGetStatus(stream) == .notOpen && gone != nil)
        }
        #expect(gone == nil)
    }

    @Test func credentialsThatTheProgramReplacesAreNotTheObjects() {
        let (auth, message) = (authentication(), request())
        CFHTTPMessageApplyCredentials(message, auth, "joe" as CFString, "secret" as CFString, nil)
        let source: HTTPMessageState = state(of: message)
        #expect(RequestRecord(source.requestToSend!, source.credentials).logins.count == 1)
        CFHTTPMessageSetHeaderFieldValue(message, "Authorization" as CFString, "Bearer x" as CFString)
        #expect(RequestRecord(source.requestToSend!, source.credentials).logins.isEmpty)
    }
}
