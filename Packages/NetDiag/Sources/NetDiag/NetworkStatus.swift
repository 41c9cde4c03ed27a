/// Whether the network appears to work, as far as can be determined without sending a packet.
///
/// The raw values are CFNetwork's. Replaces `CFNetDiagnosticStatus` and its `kCFNetDiagnosticConnection…` values.
public enum NetworkStatus: Int, Sendable, Hashable, CaseIterable {
    /// The network appears to work. `kCFNetDiagnosticConnectionUp`.
    case up = -66559
    /// Whether the network works is unknown. `kCFNetDiagnosticConnectionIndeterminate`.
    case indeterminate = -66558
    /// The network does not work. `kCFNetDiagnosticConnectionDown`.
    case down = -66557
}
