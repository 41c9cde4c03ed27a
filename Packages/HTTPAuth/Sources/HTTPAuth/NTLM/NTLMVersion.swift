/// The version that NTLM messages carry, MS-NLMP section 2.2.2.10. For people and logs; no rule goes by it.
public struct NTLMVersion: Hashable, Sendable, CustomStringConvertible {
    /// The system's major version: 10 of Windows 10 and 11.
    public var major: UInt8
    /// The system's minor version.
    public var minor: UInt8
    /// The system's build.
    public var build: UInt16
    /// The revision of NTLM: 15 for all that is in use.
    public var revision: UInt8

    /// Any version.
    public init(major: UInt8, minor: UInt8, build: UInt16, revision: UInt8 = 15) {
        self.major = major
        self.minor = minor
        self.build = build
        self.revision = revision
    }

    /// What we send: some servers (gss-ntlmssp 1.2) refuse messages without a version, none looks at the numbers.
    static let ours = NTLMVersion(major: 10, minor: 0, build: 0)

    /// `10.0 (build 19041), NTLM revision 15`
    public var description: String { "\(major).\(minor) (build \(build)), NTLM revision \(revision)" }

    var bytes: [UInt8] {
        [major, minor, UInt8(truncatingIfNeeded: build), UInt8(truncatingIfNeeded: build >> 8), 0, 0, 0, revision]
    }
}
