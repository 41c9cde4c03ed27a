// An HTTP client on a run loop, with redirects and logins, in source as on Apple's systems: written from memory and compiled unchanged.
//
//   CFNetworkClient URL [USER PASSWORD]
import CFNetwork
import Foundation

enum ClientError: Error, CustomStringConvertible {
    case badURL(String)
    case cannotOpen
    case stream(domain: CFIndex, code: Int32)
    case unauthorized(String)
    case noCredentials

    var description: String {
        switch self {
        case .badURL(let text): return "not a URL: \(text)"
        case .cannotOpen: return "the stream could not be opened"
        case .stream(let domain, let code): return "stream error \(code) in domain \(domain)"
        case .unauthorized(let realm): return "not authorized for \(realm)"
        case .noCredentials: return "a user name and a password are required"
        }
    }
}

final class HTTPClient {
    struct Response {
        var status: Int
        var statusLine: String
        var headers: [String: String]
        var body: Data
        var finalURL: URL?
    }

    private let url: URL
    private let credentials: (user: String, password: String)?
    private var request: CFHTTPMessage
    private var authentication: CFHTTPAuthentication?
    private var stream: CFReadStream?
    private var received = Data()
    private var result: Result<Response, Error>?
    private(set) var attempts = 0

    init(url: URL, method: String = "GET", credentials: (user: String, password: String)? = nil) {
        self.url = url
        self.credentials = credentials
        request = CFHTTPMessageCreateRequest(kCFAllocatorDefault, method as CFString, url as CFURL, kCFHTTPVersion1_1)
            .takeRetainedValue()
        CFHTTPMessageSetHeaderFieldValue(request, "User-Agent" as CFString, "stranger/1.0" as CFString)
        CFHTTPMessageSetHeaderFieldValue(request, "Accept" as CFString, "*/*" as CFString)
    }

    func setBody(_ data: Data, contentType: String) {
        CFHTTPMessageSetBody(request, data as CFData)
        CFHTTPMessageSetHeaderFieldValue(request, "Content-Type" as CFString, contentType as CFString)
        CFHTTPMessageSetHeaderFieldValue(request, "Content-Length" as CFString, String(data.count) as CFString)
    }

    func run() throws -> Response {
        try start()
        while result == nil {
            let reason = CFRunLoopRunInMode(CFRunLoopMode.defaultMode, 30, true)
            if reason == .finished || reason == .timedOut { break }
        }
        return try (result ?? .failure(ClientError.cannotOpen)).get()
    }

    private func start() throws {
        attempts += 1
        received.removeAll(keepingCapacity: true)
        let stream = CFReadStreamCreateForHTTPRequest(kCFAllocatorDefault, request).takeRetainedValue()
        self.stream = stream
        CFReadStreamSetProperty(
            stream, CFStreamPropertyKey(rawValue: kCFStreamPropertyHTTPShouldAutoredirect), kCFBooleanTrue)
        CFReadStreamSetProperty(
            stream, CFStreamPropertyKey(rawValue: kCFStreamPropertyHTTPAttemptPersistentConnection), kCFBooleanTrue)
        if let proxies = CFNetworkCopySystemProxySettings()?.takeRetainedValue() {
            CFReadStreamSetProperty(stream, CFStreamPropertyKey(rawValue: kCFStreamPropertyHTTPProxy), proxies)
        }
        var context = CFStreamClientContext(
            version: 0, info: Unmanaged.passUnretained(self).toOpaque(), retain: nil, release: nil, copyDescription: nil
        )
        let events: CFStreamEventType = [.openCompleted, .hasBytesAvailable, .endEncountered, .errorOccurred]
        let callback: CFReadStreamClientCallBack = { stream, event, info in
            guard let stream = stream, let info = info else { return }
            Unmanaged<HTTPClient>.fromOpaque(info).takeUnretainedValue().handle(event, on: stream)
        }
        guard CFReadStreamSetClient(stream, events.rawValue, callback, &context) else { throw ClientError.cannotOpen }
        CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), CFRunLoopMode.commonModes)
        guard CFReadStreamOpen(stream) else {
            let error = CFReadStreamGetError(stream)
            stop()
            throw ClientError.stream(domain: error.domain, code: error.error)
        }
    }

    private func stop() {
        guard let stream = stream else { return }
        CFReadStreamSetClient(stream, 0, nil, nil)
        CFReadStreamUnscheduleFromRunLoop(stream, CFRunLoopGetCurrent(), CFRunLoopMode.commonModes)
        CFReadStreamClose(stream)
        self.stream = nil
    }

    private func handle(_ event: CFStreamEventType, on stream: CFReadStream) {
        switch event {
        case .hasBytesAvailable:
            var buffer = [UInt8](repeating: 0, count: 16 * 1024)
            let count = CFReadStreamRead(stream, &buffer, buffer.count)
            if count > 0 { received.append(buffer, count: count) }
        case .endEncountered:
            finish(stream)
        case .errorOccurred:
            let error = CFReadStreamCopyError(stream)
            stop()
            result = .failure(error.map { $0 as Error } ?? ClientError.cannotOpen)
        default:
            break
        }
    }

    private func finish(_ stream: CFReadStream) {
        let property = CFReadStreamCopyProperty(
            stream, CFStreamPropertyKey(rawValue: kCFStreamPropertyHTTPResponseHeader))
        let response = property as! CFHTTPMessage
        let final =
            CFReadStreamCopyProperty(stream, CFStreamPropertyKey(rawValue: kCFStreamPropertyHTTPFinalURL)) as? URL
        let status = CFHTTPMessageGetResponseStatusCode(response)
        stop()
        if status == 401 || status == 407 {
            do {
                try authenticate(for: response)
                try start()
            } catch {
                result = .failure(error)
            }
            return
        }
        let headers = CFHTTPMessageCopyAllHeaderFields(response)?.takeRetainedValue() as? [String: String] ?? [:]
        let line = CFHTTPMessageCopyResponseStatusLine(response)?.takeRetainedValue() as String? ?? ""
        result = .success(Response(status: status, statusLine: line, headers: headers, body: received, finalURL: final))
    }

    private func authenticate(for response: CFHTTPMessage) throws {
        if authentication == nil {
            authentication = CFHTTPAuthenticationCreateFromResponse(kCFAllocatorDefault, response).takeRetainedValue()
        }
        guard let authentication = authentication else { throw ClientError.noCredentials }
        var error = CFStreamError()
        if !CFHTTPAuthenticationIsValid(authentication, &error) || attempts > 2 {
            let realm = CFHTTPAuthenticationCopyRealm(authentication).takeRetainedValue() as String
            throw ClientError.unauthorized(realm)
        }
        guard CFHTTPAuthenticationAppliesToRequest(authentication, request),
            CFHTTPAuthenticationRequiresUserNameAndPassword(authentication), let credentials = credentials
        else { throw ClientError.noCredentials }
        var dictionary: [String: String] = [
            kCFHTTPAuthenticationUsername as String: credentials.user,
            kCFHTTPAuthenticationPassword as String: credentials.password,
        ]
        if CFHTTPAuthenticationRequiresAccountDomain(authentication) {
            dictionary[kCFHTTPAuthenticationAccountDomain as String] = ""
        }
        guard CFHTTPMessageApplyCredentialDictionary(request, authentication, dictionary as CFDictionary, &error) else {
            throw ClientError.stream(domain: error.domain, code: error.error)
        }
    }
}

@main struct Consumer {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 2 || arguments.count == 4, let url = URL(string: arguments[1]) else {
            FileHandle.standardError.write("usage: httpclient URL [USER PASSWORD]\n".data(using: .utf8)!)
            exit(64)
        }
        let client = HTTPClient(url: url, credentials: arguments.count == 4 ? (arguments[2], arguments[3]) : nil)
        do {
            let response = try client.run()
            print(response.statusLine)
            for (name, value) in response.headers.sorted(by: { $0.key < $1.key }) { print("\(name): \(value)") }
            print(
                "\(response.body.count) bytes after \(client.attempts) attempts from "
                    + (response.finalURL?.absoluteString ?? "?"))
        } catch {
            print("error: \(error)")
            exit(1)
        }
    }
}
