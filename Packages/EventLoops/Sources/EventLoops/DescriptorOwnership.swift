/// Who closes an adopted descriptor.
public enum DescriptorOwnership: Sendable, Hashable {
    /// It is ours: shut down to wake blocked calls, and closed at the end.
    case owned

    /// It stays the caller's: never shut down, never reconfigured, never closed by us. The caller keeps it open until the
    /// point is closed.
    case borrowed
}
