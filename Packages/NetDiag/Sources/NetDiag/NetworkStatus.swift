/// Whether the network seems to work, as far as can be told without sending anything.
///
/// The numbers are CFNetwork's. Replaces `CFNetDiagnosticStatus` and its `kCFNetDiagnosticConnection…` values.
public enum NetworkStatus: Int, Sendable, Hashable, CaseIterable {
    /// It seems to work. `kCFNetDiagnosticConnectionUp`.
    case up = -66559
    /// It cannot be told. `kCFNetDiagnosticConnectionIndeterminate`.
    case indeterminate = -66558
    /// It does not work. `kCFNetDiagnosticConnectionDown`.
    case down = -66557
}
