internal import CHostResolverTesting
internal import Glibc

/// Lets a test see the process on a system whose table of open files is full.
///
/// ```swift
/// let table = try FullFileTable()        // in an exit test
/// // Every call that opens a file or a socket fails with ENFILE now.
/// ```
///
/// The system's own table is not touched, and no privilege is needed. The process stays so: there is no way back. Nothing may suspend from
/// then on, for the reason that ``DescriptorLimit`` gives.
@_spi(Packages) public struct FullFileTable: Sendable {
    private let before: [CInt]

    /// Refuses all further descriptors.
    ///
    /// - Throws: ``DescriptorLimit/Failure`` if the system has no such filter.
    public init() throws(DescriptorLimit.Failure) {
        DescriptorLimit.startDispatch()
        before = DescriptorLimit.openDescriptors()
        guard netkit_refuse_descriptors(ENFILE) == 0 else { throw DescriptorLimit.Failure() }
    }

    /// Whether no descriptor has been left open since.
    public var isBalanced: Bool { DescriptorLimit.openDescriptors() == before }
}
