import Glibc
import Testing

@_spi(Packages) @testable import StreamKit

@Suite struct StreamErrorTests {
    // Parity: SK-045
    @Test("SK-045: errors are equal if domain and code are, whatever the message") func equality() {
        let one = StreamError(posix: ECONNREFUSED)
        let other = StreamError(posix: ECONNREFUSED, .connectFailed("192.0.2.1:80", ECONNREFUSED), underlying: one)
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(one != StreamError(domain: .netDB, code: one.code, sentence: one.sentence))
        #expect(one != StreamError(posix: ECONNRESET))
        #expect(other.underlying as? StreamError == one)
        #expect(one.isPOSIX(ECONNREFUSED) && !one.isPOSIX(ECONNRESET))
        #expect(MemoryLayout<StreamError>.size == MemoryLayout<Int>.size)
    }

    // Parity: SK-047
    @Test(
        "SK-047: the domains have CFNetwork's numbers",
        arguments: [
            (StreamErrorDomain.custom, -1), (.posix, 1), (.macOSStatus, 2), (.ssl, 3), (.http, 4), (.socks, 5),
            (.ftp, 6),
            (.netServices, 10), (.mach, 11), (.netDB, 12), (.systemConfiguration, 13),
        ])
    func domains(_ domain: StreamErrorDomain, _ number: Int) {
        #expect(domain.rawValue == number)
    }

    @Test func timeoutsAndCancellationsAreRecognizedInEveryLayer() {
        let wrapped = StreamError(posix: EPIPE, underlying: StreamError.timedOut)
        #expect(StreamError.timedOut.isTimeout && wrapped.isTimeout && StreamError(posix: ETIMEDOUT).isTimeout)
        #expect(StreamError.cancelled.isCancellation && !StreamError.cancelled.isTimeout)
        #expect(!StreamError.closed.isTimeout && !StreamError.closed.isCancellation)
    }

    @Test func domainsHaveNames() {
        #expect("\(StreamErrorDomain.netDB)" == "netDB")
        #expect("\(StreamErrorDomain(rawValue: 99))" == "99")
    }

    // MARK: Reasons

    @Test func aReasonIsKeptAndDoesNotMatterForEquality() {
        let error = StreamError(posix: ENOENT, .closed, reason: .localFile)
        #expect(error == StreamError(posix: ENOENT) && error.hashValue == StreamError(posix: ENOENT).hashValue)
        #expect(error.with([:]).reason == .localFile)
        let report = ConnectionReport([.init(kind: .lookup("h"), start: .zero)])
        #expect(error.with(report).reason == .localFile)
    }

    /// A failure, and what programs decide by.
    struct Failure: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: Int32
        let reason: StreamErrorReason
        let call: @Sendable () async throws -> Void

        init(
            _ name: String, _ code: Int32, _ reason: StreamErrorReason,
            _ call: @escaping @Sendable () async throws -> Void
        ) {
            (testDescription, self.code, self.reason, self.call) = (name, code, reason, call)
        }
    }

    @Test(arguments: [
        Failure("a file that does not exist", ENOENT, .localFile) {
            let stream = ReadStream(path: "/nonexistent")
            try stream.open()
            try await stream.opened()
        },
        Failure("a folder", EISDIR, .localFile) { _ = try ProxyScript(file: "/") },
        Failure("a device", EINVAL, .localFile) { _ = try ProxyScript(file: "/dev/null") },
        Failure("a variable without a proxy", EINVAL, .invalidProxySettings) {
            _ = try ProxySettings.environment(["http_proxy": "http://proxy:port"])
        },
        Failure("a script with a NUL byte", EINVAL, .scriptInvalid) { _ = try ProxyScript("\0") },
        Failure("a script that is too large", EFBIG, .scriptInvalid) {
            _ = try ProxyScript(String(repeating: " ", count: ProxyScript.maximumScriptSize + 1))
        },
        Failure("a script of a server", ENOTSUP, .scriptMissing) {
            _ = try ProxyScriptSource.url("http://h/").script()
        },
    ])
    func failuresHaveAReason(_ failure: Failure) async {
        let error = await #expect(throws: StreamError.self) { try await failure.call() }
        #expect(error?.isPOSIX(failure.code) == true && error?.reason == failure.reason)
    }

    // Parity: SK-046
    @Test("SK-046: errors describe themselves in sentences") func sentences() {
        #expect(StreamError.closed.description == "The stream was closed on this side.")
        let refused = StreamError(posix: ECONNREFUSED, .connectFailed("192.0.2.1:80", ECONNREFUSED))
        #expect("\(refused)" == "The connection to 192.0.2.1:80 was refused: nothing is listening there.")
        #expect(refused.debugDescription.hasSuffix("(domain posix, code 111)"))
        #expect(StreamError(posix: EPERM).description.contains("(errno 1)"))
    }
}
