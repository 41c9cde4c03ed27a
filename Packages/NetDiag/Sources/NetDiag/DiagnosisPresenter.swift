internal import Glibc

/// Who tells a person what a diagnosis finds: a terminal, a window, a log.
///
/// Called from any thread, one call at a time.
public protocol DiagnosisPresenter: Sendable {
    /// A diagnosis of `target` begins, for the program `name`.
    func began(_ target: String, for name: String)
    /// It is over.
    func finished(_ diagnosis: Diagnosis)
}

/// Writes to standard error. Text that came from the network is made harmless for terminals.
public struct StandardErrorPresenter: DiagnosisPresenter {
    /// Makes one.
    public init() {}

    /// Says what is being looked at.
    public func began(_ target: String, for name: String) {
        say("\(name): diagnosing \(target) …")
    }

    /// Says the cause and what to do, or that it works.
    public func finished(_ diagnosis: Diagnosis) {
        say(diagnosis.description)
    }

    private func say(_ text: String) {
        // Nothing but line ends and what can be seen.
        let shown = text.unicodeScalars.map { scalar in
            scalar == "\n" || !(scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)) ? String(scalar) : "?"
        }
        let line = Array((shown.joined() + "\n").utf8)
        _ = line.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
    }
}
