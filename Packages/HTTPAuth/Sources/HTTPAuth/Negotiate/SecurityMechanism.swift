/// One mechanism's conversation within SPNEGO: Kerberos through GSSAPI, NTLM of our own, a script in tests.
///
/// Kerberos waits for the network in its first step, so all steps are made on a thread that may wait.
protocol SecurityMechanism: AnyObject {
    var identifier: MechanismIdentifier { get }

    /// Whether this side needs no further token.
    var isComplete: Bool { get }

    /// Whether this side has seen proof that the server knows its secret.
    var isServerProven: Bool { get }

    /// Whether the list of mechanisms is signed even where SPNEGO leaves it open: NTLM's integrity code asks for it.
    var alwaysSigns: Bool { get }

    /// Takes the server's token, nil at the beginning, and gives the next one, nil if there is none.
    func step(_ token: [UInt8]?) throws(HTTPAuthError) -> [UInt8]?

    /// Signs the list of mechanisms.
    func signature(of list: [UInt8]) throws(HTTPAuthError) -> [UInt8]

    /// Throws if this is not the server's signature of the list.
    func check(_ signature: [UInt8], of list: [UInt8]) throws(HTTPAuthError)
}
