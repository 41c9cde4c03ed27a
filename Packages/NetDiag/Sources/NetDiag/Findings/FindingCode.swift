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
    /// Every name server refuses or fails.
    case nameServersFail
    /// One of several name servers does not answer, or fails.
    case nameServerBad
    /// There is no such name.
    case nameUnknown
    /// The name exists and has no address.
    case nameWithoutAddress
    /// The hosts file gives other addresses than the name servers, and those do not work.
    case hostsEntryStale
    /// The name cannot be looked up for another reason.
    case nameLookupFailed

    // MARK: Connection

    /// Nothing listens at the port.
    case portRefused
    /// Nothing comes back: the host is off, or something drops the packets.
    case noAnswer
    /// A router says that the host cannot be reached.
    case hostUnreachable
    /// The connection was broken off.
    case connectionBroken
    /// One address family does not get through; the other does.
    case familyBroken
    /// The connection fails for another reason.
    case connectionFailed

    // MARK: Security

    /// The certificate is not valid any more.
    case certificateExpired
    /// The certificate is not valid yet; or this machine's clock is wrong.
    case certificateNotYetValid
    /// The certificate comes from nobody whom this machine trusts.
    case certificateUntrusted
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
    /// The server leads elsewhere, as sign-in pages of networks do.
    case ledElsewhere
    /// The server says that it is broken.
    case serverBroken
    /// The server refuses this request.
    case requestRefused
    /// The server went away without an answer.
    case answerMissing
    /// The server or proxy wants credentials.
    case credentialsWanted

    /// Where on the ladder it is.
    public var rung: Rung {
        switch self {
        case .noInterface, .linkOff, .noCarrier: .link
        case .duplicateAddress, .linkLocalOnly, .noAddress: .address
        case .noRoute, .routeRefused: .route
        case .gatewaySilent, .hostSilent: .gateway
        case .noNameServers, .nameServersSilent, .nameServersFail, .nameServerBad, .nameUnknown, .nameWithoutAddress,
            .hostsEntryStale, .nameLookupFailed:
            .name
        case .portRefused, .noAnswer, .hostUnreachable, .connectionBroken, .familyBroken, .connectionFailed: .connection
        case .certificateExpired, .certificateNotYetValid, .certificateUntrusted, .certificateWrongName, .notTLS,
            .nothingInCommon, .securityFailed:
            .security
        case .notHTTP, .ledElsewhere, .serverBroken, .requestRefused, .answerMissing: .answer
        case .credentialsWanted: .authentication
        }
    }
}
