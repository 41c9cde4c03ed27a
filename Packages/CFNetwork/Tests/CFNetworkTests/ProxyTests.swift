import CFNetwork
import Testing

/// Proxies and errors in Swift, as sources for Apple's systems use them. The programs in C test the behaviour.
@Suite(.serialized, .timeLimit(.minutes(6)))
struct ProxyTests {
    @Test func scriptsCallAClosure() async {
        final class Info { var isCalled = false }
        struct Outcome {
            var isCalled = false
            var isReleased = false
            var code = 0
            var hosts: [String?]?
        }
        // On a thread of its own: a test that blocks one of the pool's threads keeps other tests from running.
        let outcome = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var outcome = Outcome()
                weak var gone: Info?
                var found: NSArray?
                do {
                    let info = Info()
                    gone = info
                    var context = CFStreamClientContext(
                        version: 0, info: Unmanaged.passUnretained(info).toOpaque(),
                        retain: { Unmanaged<Info>.fromOpaque($0!).retain().toOpaque() },
                        release: { Unmanaged<Info>.fromOpaque($0!).release() }, copyDescription: nil)
                    let source = CFNetworkExecuteProxyAutoConfigurationScript(
                        "function FindProxyForURL(url, host) { return 'PROXY p.example:8080; DIRECT'; }" as CFString,
                        URL(string: "http://www.example.com/")! as CFURL,
                        { client, proxies, error in
                            Unmanaged<Info>.fromOpaque(client).takeUnretainedValue().isCalled = true
                            found = proxies
                            outcome.code = error.map { CFErrorGetCode($0) } ?? 0
                            CFRunLoopStop(CFRunLoopGetCurrent())
                        }, &context
                    ).takeRetainedValue()
                    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, .defaultMode)
                    _ = CFRunLoopRunInMode(.defaultMode, 300, false)
                    outcome.isCalled = info.isCalled
                }
                outcome.isReleased = gone == nil
                outcome.hosts = (found as? [[String: Any]])?.map { $0[kCFProxyHostNameKey as String] as? String }
                continuation.resume(returning: outcome)
            }
        }
        #expect(outcome.isCalled && outcome.isReleased)
        // A machine without an engine reports the error of a script that cannot be run.
        let isUnavailable = outcome.code == Int(CFNetworkErrors.cfErrorPACFileError.rawValue)
        #expect(outcome.code == 0 || isUnavailable)
        #expect(outcome.hosts == (isUnavailable ? [] : ["p.example", nil]))
    }

    @Test func errorsHaveFoundationsTypes() throws {
        let url = URL(string: "ftp://127.0.0.1:1/file")! as CFURL
        let stream = CFReadStreamCreateWithFTPURL(nil, url).takeRetainedValue()
        var byte: UInt8 = 0
        CFReadStreamOpen(stream)
        #expect(CFReadStreamRead(stream, &byte, 1) == -1)
        let error = try #require(CFReadStreamCopyError(stream))
        #expect(CFErrorGetDomain(error) as String == "NSPOSIXErrorDomain" && CFErrorGetCode(error) == 111)
        #expect((CFErrorCopyDescription(error) as String).contains("refused"))
        let facts = try #require(CFErrorCopyUserInfo(error) as? [String: Any])
        #expect(facts["_kCFStreamErrorCodeKey"] as? Int == 111)
        let data = CFDataCreate(nil, [1, 2], 2) as Data
        #expect(data == Data([1, 2]))
    }
}
