/// What a finding is about. The raw values are stable: scripts may depend on them.
public enum FindingCode: String, Sendable, Hashable, CaseIterable {
    // MARK: Link and address

    /// The machine has no interface but loopback.
    case noInterface
    /// Every interface is switched off.
    case linkOff
    /// No interface that is switched on has a carrier.
    case noCarrier
    /// Somebody else uses an address of ours.
    case duplicateAddress
    /// Only addresses that are valid on the link itself: nobody gave out a real one.
    case linkLocalOnly
    /// No interface with a carrier has an address.
    case noAddress
    /// The target has addresses of one family only, and this machine has none of that family.
    case familyMissing
    /// An address was given for a time that is nearly over, and nobody has renewed it.
    case leaseOverdue
    /// The address was given for a time that is over, and nobody has given another one.
    case leaseExpired

    // MARK: Route and gateway

    /// The kernel knows no way to the target.
    case noRoute
    /// The kernel is told not to send there.
    case routeRefused
    /// The router on the way does not answer on the link.
    case gatewaySilent
    /// The target is on the link and does not answer there.
    case hostSilent

    // MARK: Name

    /// No name server is configured.
    case noNameServers
    /// No name server answers.
    case nameServersSilent
    /// Every name server answers that it does not serve this machine or this name.
    case nameServersRefuse
    /// Every name server fails, or nothing listens at its address.
    case nameServersFail
    /// The name servers answer over TCP, and nothing comes back over UDP.
    case nameServersOnlyTCP
    /// The name servers' answer is too long for UDP, and TCP does not get through to them.
    case nameServersOnlyUDP
    /// One of several name servers does not answer, or fails.
    case nameServerBad
    /// There is no such name.
    case nameUnknown
    /// The name exists and has no address.
    case nameWithoutAddress
    /// A name server gives addresses that do not work, and another one gives some that do.
    case nameServerLies
    /// The name does not exist, and a name server invents an address for it, as for every name.
    case nameInvented
    /// A name server invents addresses for names that do not exist.
    case nameServerInvents
    /// A filter answers in the name's place, with an address that leads nowhere.
    case nameBlocked
    /// The hosts file gives other addresses than the name servers, and those do not work.
    case hostsEntryStale
    /// The name cannot be looked up for another reason.
    case nameLookupFailed

    // MARK: Proxy

    /// The proxy settings cannot be read.
    case proxySettingsUnreadable
    /// There is no host of the proxy's name.
    case proxyUnknown
    /// The proxy cannot be connected to.
    case proxyUnreachable
    /// What is at the proxy's place is none, or one of another kind.
    case proxyWrong
    /// The proxy wants credentials.
    case proxyCredentialsWanted
    /// The proxy's rules forbid the target.
    case proxyForbids
    /// The proxy cannot reach the target.
    case proxyFails
    /// A script chooses the proxy, and this machine cannot run it.
    case proxyScript
    /// The script that chooses the proxy cannot be loaded.
    case proxyScriptUnreachable
    /// The script that chooses the proxy fails, takes too long or answers nonsense.
    case proxyScriptBroken

    // MARK: Connection

    /// Nothing listens at the port.
    case portRefused
    /// Nothing comes back: the host is off, or something drops the packets.
    case noAnswer
    /// The host is there, and something drops what is sent to this port.
    case portFiltered
    /// A firewall says that it forbids the connection.
    case connectionForbidden
    /// A router says that the host cannot be reached.
    case hostUnreachable
    /// The connection was broken off.
    case connectionBroken
    /// One address family does not get through; the other does.
    case familyBroken
    /// The connection fails for another reason.
    case connectionFailed

    /// Small packets get through and full ones vanish, without a word from the router that drops them.
    case packetsTooLarge

    // MARK: Security

    /// This machine's clock is wrong, so no certificate seems valid.
    case clockWrong
    /// The certificate is not valid any more.
    case certificateExpired
    /// The certificate is not valid yet; or this machine's clock is wrong.
    case certificateNotYetValid
    /// The certificate comes from nobody whom this machine trusts.
    case certificateUntrusted
    /// Something on the way shows a certificate of its own in the server's place.
    case certificateIntercepted
    /// The certificate was revoked.
    case certificateRevoked
    /// The certificate is for another name.
    case certificateWrongName
    /// The server does not speak TLS there.
    case notTLS
    /// No version, cipher or protocol in common.
    case nothingInCommon
    /// TLS fails for another reason.
    case securityFailed

    // MARK: Answer

    /// What answers does not speak HTTP.
    case notHTTP
    /// What answers does not speak FTP.
    case notFTP
    /// The network wants a person to sign in first, and answers in the server's place.
    case captivePortal
    /// The server leads to another place.
    case ledElsewhere
    /// The server's redirects lead round in a circle.
    case redirectLoop
    /// The server says that it is broken.
    case serverBroken
    /// The server refuses this request.
    case requestRefused
    /// The server went away without an answer.
    case answerMissing
    /// The server wants credentials.
    case credentialsWanted
    /// The server does not take the credentials it was given.
    case credentialsRefused
    /// The server wants a certificate of the client's.
    case clientCertificateWanted
    /// The server knows who asks, or does not care, and says no.
    case accessForbidden

    /// Where on the ladder it is.
    public var rung: Rung {
        switch self {
        case .noInterface, .linkOff, .noCarrier: .link
        case .duplicateAddress, .linkLocalOnly, .noAddress, .familyMissing, .leaseOverdue, .leaseExpired:
            .address
        case .noRoute, .routeRefused: .route
        case .gatewaySilent, .hostSilent: .gateway
        case .noNameServers, .nameServersSilent, .nameServersRefuse, .nameServersFail, .nameServersOnlyTCP,
            .nameServersOnlyUDP, .nameServerBad, .nameUnknown, .nameWithoutAddress, .nameServerLies, .nameInvented,
            .nameServerInvents, .nameBlocked, .hostsEntryStale, .nameLookupFailed:
            .name
        case .proxySettingsUnreadable, .proxyUnknown, .proxyUnreachable, .proxyWrong, .proxyCredentialsWanted,
            .proxyForbids, .proxyFails, .proxyScript, .proxyScriptUnreachable, .proxyScriptBroken:
            .proxy
        case .portRefused, .noAnswer, .portFiltered, .connectionForbidden, .hostUnreachable, .connectionBroken,
            .familyBroken, .connectionFailed:
            .connection
        case .packetsTooLarge: .path
        case .clockWrong, .certificateExpired, .certificateNotYetValid, .certificateUntrusted, .certificateIntercepted,
            .certificateRevoked, .certificateWrongName, .notTLS, .nothingInCommon, .securityFailed:
            .security
        case .notHTTP, .notFTP, .captivePortal, .ledElsewhere, .redirectLoop, .serverBroken, .requestRefused,
            .answerMissing:
            .answer
        case .credentialsWanted, .credentialsRefused, .clientCertificateWanted, .accessForbidden: .authentication
        }
    }

    /// The failures of higher or equal rungs that are its doing, besides those of every higher rung.
    ///
    /// A failure follows from every failure below it. These follow although they stand lower: who signs in first, or
    /// sets the clock, does not see them any more.
    public var explains: Set<FindingCode> {
        switch self {
        case .captivePortal:
            [
                .nameInvented, .nameServerLies, .nameBlocked, .certificateExpired, .certificateNotYetValid,
                .certificateUntrusted, .certificateIntercepted, .certificateWrongName, .notTLS, .nothingInCommon,
                .securityFailed, .portRefused, .noAnswer, .portFiltered, .connectionForbidden, .packetsTooLarge,
            ]
        default: []
        }
    }
}
