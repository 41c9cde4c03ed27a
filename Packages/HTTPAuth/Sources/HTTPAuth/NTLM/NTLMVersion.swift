/// The version field of NTLM messages (MS-NLMP section 2.2.2.10). It is informational; nothing depends on it.
public struct NTLMVersion: Hashable, Sendable, CustomStringConvertible {
    /// The major version of the system: 10 for Windows 10 and 11.
    public var major: UInt8
    /// The minor version of the system.
    public var minor: UInt8
    /// The build of the system.
    public var build: UInt16
    /// The NTLM revision: 15 in all current systems.
    public var revision: UInt8

    /// Creates a version.
    public init(major: UInt8, minor: UInt8, build: UInt16, revision: UInt8 = 15) {
        self.major = major
        self.minor = minor
        self.build = build
        self.revision = revision
    }

    /// The version that this package sends. Some servers (gss-ntlmssp 1.2) reject messages without one, but no server
    /// checks the numbers.
    static let ours = NTLMVersion(major: 10, minor: 0, build: 0)

    /// `10.0 (build 19041), NTLM revision 15`
    public var description: String { "\(major).\(minor) (build \(build)), NTLM revision \(revision)" }

    var bytes: [UInt8] {
        [major, minor, UInt8(truncatingIfNeeded: build), UInt8(truncatingIfNeeded: build >> 8), 0, 0, 0, revision]
    }
}
