import Foundation
import HTTPAuth
import Testing

@testable import CredentialStores

/// The process has no descriptors left. Each test has a process for itself.
@Suite struct ScarcityTests {
    /// Sets the number of descriptors that the process may have; those that are open stay.
    private static func limit(to count: rlim_t) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = count
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    @Test func storesFailAndRecover() async {
        await #expect(processExitsWith: .success) {
            let folder = "/tmp/netkit-stores-\(getpid())"
            mkdir(folder, 0o700)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let netrc = open(folder + "/netrc", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            try #require(netrc >= 0)
            let entry = Array("machine h login joe password p".utf8)
            #expect(write(netrc, entry, entry.count) == entry.count && close(netrc) == 0)
            let origin = ProtectionSpace(.origin, scheme: "https", host: "h", port: 443, realm: "r")
            let key = CredentialFile.Key.bytes(Secret(bytes: [UInt8](repeating: 7, count: 32)))
            @Sendable func store() -> CredentialFile { CredentialFile(path: folder + "/passwords", key: key) }
            let calls: [(name: String, call: () throws -> Void)] = [
                ("save", { try store().save(Credential(user: "joe", password: "p", for: origin)) }),
                ("find", { try #require(try store().find(CredentialQuery(origin)) != nil) }),
                ("netrc", { _ = try NetrcFile(path: folder + "/netrc") }),
                ("remove", { try #require(try store().remove(CredentialQuery(origin)) == 1) }),
            ]
            let bus = SecretServiceStore(busAddress: "unix:path=\(folder)/bus")
            func failure(_ call: () throws -> Void) -> HTTPAuthError? {
                do { try call() } catch { return error as? HTTPAuthError }
                return nil
            }
            for (_, call) in calls { try call() }
            try calls[0].call()
            ScarcityTests.limit(to: 0)
            let errors = (calls.map(\.call) + [{ try bus.check() }]).map(failure)
            ScarcityTests.limit(to: 256)
            for (name, error) in zip(calls.map(\.name) + ["bus"], errors) {
                let isScarcity = error?.detail?.contains("Too many open files") == true
                #expect(error?.code == .storeUnavailable && isScarcity, "\(name): \(String(describing: error))")
            }
            for (_, call) in calls { try call() }
            #expect(failure { try bus.check() }?.code == .storeMissing)
        }
    }
}
