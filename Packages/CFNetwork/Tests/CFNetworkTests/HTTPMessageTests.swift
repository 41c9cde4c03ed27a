import CFNetwork
import HTTPMessage
import Testing

@testable import CFNetworkEngine

/// The Swift interface, as sources for Apple's systems use it.
struct HTTPMessageTests {
    private let url = URL(string: "http://example.org/a")! as CFURL

    private func request(_ method: String = "GET") -> CFHTTPMessage {
        CFHTTPMessageCreateRequest(kCFAllocatorDefault, method as CFString, url, kCFHTTPVersion1_1).takeRetainedValue()
    }

    private func response(_ head: String) -> CFHTTPMessage {
        let message = CFHTTPMessageCreateEmpty(nil, false).takeRetainedValue()
        let bytes = Array("\(head)\r\n\r\n".utf8)
        #expect(CFHTTPMessageAppendBytes(message, bytes, bytes.count))
        return message
    }

    private func value(_ request: CFHTTPMessage, _ name: String = "Authorization") -> String? {
        CFHTTPMessageCopyHeaderFieldValue(request, name as CFString)?.takeRetainedValue() as String?
    }

    @Test func sourceAsOnApplesSystems() throws {
        let message = request("PUT")
        CFHTTPMessageSetHeaderFieldValue(message, "X-Ä" as CFString, "refused" as CFString)
        CFHTTPMessageSetHeaderFieldValue(message, "X-A" as CFString, "é" as CFString)
        CFHTTPMessageSetBody(message, Data("body".utf8) as CFData)
        let fields = try #require(CFHTTPMessageCopyAllHeaderFields(message)?.takeRetainedValue() as? [String: String])
        #expect(fields == ["X-A": "é"])
        let serialized = try #require(CFHTTPMessageCopySerializedMessage(message)?.takeRetainedValue())
        #expect(String(decoding: serialized as Data, as: UTF8.self) == "PUT /a HTTP/1.1\r\nX-A: é\r\n\r\nbody")
        #expect(CFHTTPMessageCopyRequestURL(message)?.takeRetainedValue() === url)
    }

    /// The body of a message: NULL without one, and no bytes for an empty one.
    @Test func missingAndEmptyBodies() {
        for message in [request(), response("HTTP/1.1 200 OK\r\nContent-Length: 0")] {
            #expect(CFHTTPMessageCopyBody(message) == nil)
            CFHTTPMessageSetBody(message, Data() as CFData)
            #expect(CFHTTPMessageCopyBody(message)?.takeRetainedValue() as Data? == Data())
            let copy = CFHTTPMessageCreateCopy(nil, message).takeRetainedValue()
            #expect(CFHTTPMessageCopyBody(copy)?.takeRetainedValue() as Data? == Data())
        }
    }

    @Test func textOutsideASCII() {
        let message = request()
        let half = NSString(characters: [0x61, 0xD800, 0x62], length: 3)
        CFHTTPMessageSetHeaderFieldValue(message, "X" as CFString, half)
        CFHTTPMessageSetHeaderFieldValue(message, "Y" as CFString, "€𝄞" as CFString)
        #expect(value(message, "X") == "a\u{FFFD}b" && value(message, "Y") == "€𝄞")
    }

    @Test func castsAndCollections() throws {
        let message = request()
        let any: AnyObject = message
        #expect(any is CFHTTPMessage && (any as? CFHTTPMessage) === message)
        #expect((NSMutableArray() as AnyObject) as? CFHTTPMessage == nil)
        #expect(Set([message, message, request()]).count == 2)
        #expect(message.description.hasPrefix("<CFHTTPMessage 0x"))
        #expect(message.description.hasSuffix("{GET /a HTTP/1.1}"))
        #expect(CFGetTypeID(message) == CFHTTPMessageGetTypeID())
    }

    @Test func objectsAreDeallocated() {
        weak var gone: CFHTTPMessage?
        weak var goneCopy: CFHTTPMessage?
        weak var goneState: HTTPMessageState?
        do {
            let message = request()
            gone = message
            goneState = state(of: message)
            #expect(goneState != nil)
            let copy = CFHTTPMessageCreateCopy(nil, message).takeRetainedValue()
            goneCopy = copy
        }
        #expect(gone == nil && goneCopy == nil && goneState == nil)
    }

    @Test func basicIsAppliedWithoutAChallenge() {
        let message = request()
        #expect(CFHTTPMessageAddAuthentication(message, nil, "joe" as CFString, "secret" as CFString, nil, false))
        #expect(value(message) == "Basic am9lOnNlY3JldA==")
        let digest = kCFHTTPAuthenticationSchemeDigest
        #expect(!CFHTTPMessageAddAuthentication(message, nil, "joe" as CFString, "x" as CFString, digest, false))
        #expect(value(message) == "Basic am9lOnNlY3JldA==")
    }

    @Test func theStrongestOfferedSchemeIsUsed() {
        let failure = response(
            """
            HTTP/1.1 401 No\r
            WWW-Authenticate: Basic realm="r"\r
            WWW-Authenticate: Digest realm="r", nonce="n"
            """)
        let message = request()
        #expect(CFHTTPMessageAddAuthentication(message, failure, "joe" as CFString, "secret" as CFString, nil, false))
        #expect(value(message)?.hasPrefix("Digest ") == true)
        let basic = kCFHTTPAuthenticationSchemeBasic
        #expect(CFHTTPMessageAddAuthentication(message, failure, "joe" as CFString, "secret" as CFString, basic, false))
        #expect(value(message) == "Basic am9lOnNlY3JldA==")
    }

    @Test func otherSchemesAndPartiesAreRefused() {
        let failure = response("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"r\"")
        let message = request()
        let (user, password) = ("joe" as CFString, "secret" as CFString)
        #expect(!CFHTTPMessageAddAuthentication(message, failure, user, password, nil, false))
        #expect(!CFHTTPMessageAddAuthentication(message, response("HTTP/1.1 200 OK"), user, password, nil, true))
        #expect(!CFHTTPMessageAddAuthentication(failure, failure, user, password, nil, true))
        for scheme in [
            kCFHTTPAuthenticationSchemeNTLM, kCFHTTPAuthenticationSchemeNegotiate, kCFHTTPAuthenticationSchemeKerberos,
            kCFHTTPAuthenticationSchemeNegotiate2, kCFHTTPAuthenticationSchemeXMobileMeAuthToken,
            kCFHTTPAuthenticationSchemeOAuth1, kCFHTTPAuthenticationSchemeDigest,
        ] {
            #expect(!CFHTTPMessageAddAuthentication(message, failure, user, password, scheme, true))
        }
        #expect(value(message) == nil && value(message, "Proxy-Authorization") == nil)
        #expect(CFHTTPMessageAddAuthentication(message, failure, user, password, nil, true))
        #expect(value(message, "Proxy-Authorization") == "Basic am9lOnNlY3JldA==")
    }

    /// What a draft accepts without examination, the examination accepts: a message is built later without failing.
    @Test func simpleURLsAreValid() throws {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("ab./?-_~=&:109#%@[".utf8)
        var simple = 0
        for _ in 0..<20_000 {
            let rest = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator)!
            }
            let text = (Bool.random(using: &generator) ? "http://" : "https://") + String(decoding: rest, as: UTF8.self)
            guard Array(text.utf8).withUnsafeBufferPointer(RequestDraft.isSimpleURL) else { continue }
            simple += 1
            let url = try #require(URL(string: text), "\(text)")
            let request = try HTTPRequest(method: .get, url: url)
            #expect(request.target.description.hasPrefix("/"), "\(text)")
        }
        #expect(simple > 500)
    }

    /// Threads that read a new message build it once.
    @Test func concurrentReaders() async {
        for _ in 0..<200 {
            let url = URL(string: "http://example.org/a")! as CFURL
            nonisolated(unsafe) let message = CFHTTPMessageCreateRequest(nil, "GET" as CFString, url, kCFHTTPVersion1_1)
                .takeRetainedValue()
            await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { CFHTTPMessageCopySerializedMessage(message)?.takeRetainedValue().length == 19 }
                }
                for await isComplete in group { #expect(isComplete) }
            }
        }
    }
}
