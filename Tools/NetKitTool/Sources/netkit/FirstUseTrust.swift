import Foundation
@_spi(Packages) import NetKit

/// The keys of servers that were trusted on first use, as in ssh: a file with a line for each host.
///
/// ```
/// device.local sha256//YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg=
/// ```
///
/// The key of a host that the file does not name is printed and added. A host with another key than the file's is refused.
final class FirstUseTrust: Sendable {
    private let path: String
    private let keys: Locked<[String: String]>

    /// Reads the file, which need not exist.
    init(path: String) throws(OutputFile.Failure) {
        self.path = path
        var keys: [String: String] = [:]
        if access(path, F_OK) == 0 {
            if let failure = OutputFile.Failure(reading: path) { throw failure }
            let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
            for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                let words = line.split(whereSeparator: \.isWhitespace)
                if words.isEmpty || line.hasPrefix("#") { continue }
                guard words.count == 2, let pin = try? TLSPin(String(words[1])) else {
                    throw OutputFile.Failure(description: "\(path), line \(index + 1), is not a host and its key.")
                }
                keys[words[0].lowercased()] = pin.description
            }
        }
        self.keys = Locked(keys)
    }

    /// Makes a configuration trust the keys of the file, and new hosts, in place of the system's roots.
    func apply(to tls: inout TLSConfiguration) {
        tls.verification = .insecureNone
        tls.verifier = TLSVerifier { [self] chain, name in accepts(chain.first.map(TLSPin.init)?.description, name) }
    }

    /// Called within the handshake: compares and stores the key.
    private func accepts(_ key: String?, _ name: String?) -> Bool {
        guard let key, let host = name?.lowercased() else { return false }
        // The file is written inside the lock: a key counts as known only once it is stored.
        let (known, failure) = keys.withLock { keys -> (String?, OutputFile.Failure?) in
            if let known = keys[host] { return (known, nil) }
            do throws(OutputFile.Failure) {
                try Self.append("\(host) \(key)\n", to: path)
            } catch {
                return (nil, error)
            }
            keys[host] = key
            return (nil, nil)
        }
        if let known {
            if known == key { return true }
            Terminal.say(
                """
                netkit: The key of \(host) has changed: it is \(key), not \(known). The connection may be intercepted. If the \
                server has a new key, remove its line from \(path).
                """)
            return false
        }
        if let failure {
            Terminal.say("netkit: \(failure.description)")
            return false
        }
        Terminal.say("netkit: \(host) is trusted from now on: its key \(key) was added to \(path).")
        return true
    }

    private static func append(_ line: String, to path: String) throws(OutputFile.Failure) {
        do throws(WritableFile.Failure) {
            let file = try WritableFile(path, permissions: 0o600, appends: true)
            // An editor may have left the last line without its end.
            let isCut =
                FileHandle(forReadingAtPath: path).flatMap { try? $0.readToEnd() }?.last.map { $0 != 0x0A } ?? false
            try file.write(Array((isCut ? "\n" + line : line).utf8).span.bytes)
        } catch {
            throw OutputFile.Failure(writing: path, error)
        }
    }
}
