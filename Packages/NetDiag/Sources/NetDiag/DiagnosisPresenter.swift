internal import Glibc

/// Presents a diagnosis to the user, on a terminal, in a window or in a log.
///
/// The methods may be called on any thread, one call at a time.
public protocol DiagnosisPresenter: Sendable {
    /// Called when a diagnosis of `target` begins on behalf of the program `name`.
    func began(_ target: String, for name: String)
    /// Called when the diagnosis has ended.
    func finished(_ diagnosis: Diagnosis)
}

/// Writes diagnoses to standard error, without control characters.
public struct StandardErrorPresenter: DiagnosisPresenter {
    /// Creates a presenter.
    public init() {}

    /// Writes the name of the program and the target.
    public func began(_ target: String, for name: String) {
        write("\(name): diagnosing \(target) …")
    }

    /// Writes the cause and the advice, or that the target works.
    public func finished(_ diagnosis: Diagnosis) {
        write(diagnosis.description)
    }

    private func write(_ text: String) {
        // Control characters other than line ends could change the state of a terminal.
        let shown = text.unicodeScalars.map { scalar in
            scalar == "\n" || !(scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)) ? String(scalar) : "?"
        }
        let line = Array((shown.joined() + "\n").utf8)
        _ = line.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
    }
}
