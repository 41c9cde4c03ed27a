/// A mechanism of one SPNEGO negotiation: Kerberos through GSSAPI, this package's NTLM, or a script in tests.
///
/// The first step of Kerberos waits for the network, so all steps run on a thread that may block.
protocol SecurityMechanism: AnyObject {
    var identifier: MechanismIdentifier { get }

    /// Whether this side needs no further token.
    var isComplete: Bool { get }

    /// Whether the server has proven to this side that it knows its secret.
    var isServerProven: Bool { get }

    /// Whether the mechanism list is signed even if SPNEGO does not require it. NTLM's integrity code does.
    var alwaysSigns: Bool { get }

    /// Processes the server's token (nil for the first step) and returns the next one; nil if there is none.
    func step(_ token: [UInt8]?) throws(HTTPAuthError) -> [UInt8]?

    /// Signs the mechanism list.
    func signature(of list: [UInt8]) throws(HTTPAuthError) -> [UInt8]

    /// Throws if `signature` is not the server's signature of the list.
    func check(_ signature: [UInt8], of list: [UInt8]) throws(HTTPAuthError)
}
