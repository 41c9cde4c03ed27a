/// The kind of a finding. The raw values are stable: scripts may depend on them.
public enum FindingCode: String, Sendable, Hashable, CaseIterable {
    // MARK: Link and address

    /// The machine has no interface other than loopback.
    case noInterface
    /// Every interface is down.
    case linkOff
    /// No interface that is up has a carrier.
    case noCarrier
    /// Another machine uses an address of this machine.
    case duplicateAddress
    /// The machine has only link-local addresses: no DHCP server or router has assigned another.
    case linkLocalOnly
    /// No interface with a carrier has an address.
    case noAddress
    /// The target has addresses of one family only, and this machine has no address of that family.
    case familyMissing
    /// The lease of an address is about to expire and was not renewed.
    case leaseOverdue
    /// The lease of the address has expired, and no other address was assigned.
    case leaseExpired

    // MARK: Route and gateway

    /// The kernel has no route to the target.
    case noRoute
    /// The routing table forbids sending to the target.
    case routeRefused
    /// The next router does not answer on the link.
    case gatewaySilent
    /// The target is on the local link but does not answer there.
    case hostSilent

    // MARK: Name

    /// No name server is configured.
    case noNameServers
    /// No name server answers.
    case nameServersSilent
    /// Every name server that answers refuses the query (REFUSED).
    case nameServersRefuse
    /// Every name server returns an error, or nothing listens at its address.
    case nameServersFail
    /// The name servers answer over TCP but not over UDP.
    case nameServersOnlyTCP
    /// The name servers' answer is too long for UDP, and they cannot be reached over TCP.
    case nameServersOnlyUDP
    /// One of several name servers does not answer or returns an error.
    case nameServerBad
    /// The name does not exist.
    case nameUnknown
    /// The name exists but has no address.
    case nameWithoutAddress
    /// The name resolves to addresses that do not work, and a name server answers with others that do.
    case nameServerLies
    /// The name probably does not exist: the name servers answer with the same addresses for names that do not exist.
    case nameInvented
    /// A name server answers with addresses for names that do not exist.
    case nameServerInvents
    /// A filter blocks the name: it answers with an unusable address.
    case nameBlocked
    /// The hosts file has other addresses than the name servers, and they do not work.
    case hostsEntryStale
    /// The lookup of the name fails for another reason.
    case nameLookupFailed

    // MARK: Proxy

    /// The proxy settings cannot be read.
    case proxySettingsUnreadable
    /// The host name of the proxy does not exist, or has no address.
    case proxyUnknown
    /// No connection to the proxy succeeds.
    case proxyUnreachable
    /// The host and port of the proxy belong to another service, or to a proxy of another type.
    case proxyWrong
    /// The proxy requires credentials.
    case proxyCredentialsWanted
    /// The proxy's rules forbid the target.
    case proxyForbids
    /// The proxy cannot reach the target.
    case proxyFails
    /// A script chooses the proxy, and the diagnosis could not run it.
    case proxyScript
    /// The script that chooses the proxy cannot be loaded.
    case proxyScriptUnreachable
    /// The script that chooses the proxy fails, takes too long, or returns an invalid result.
    case proxyScriptBroken

    // MARK: Connection

    /// Nothing listens at the port.
    case portRefused
    /// No answer arrives: the host is off, or the packets are dropped.
    case noAnswer
    /// The host answers, but packets to this port are dropped.
    case portFiltered
    /// A firewall reports that it forbids the connection.
    case connectionForbidden
    /// A router reports that the host cannot be reached.
    case hostUnreachable
    /// The connection was reset or lost.
    case connectionBroken
    /// Connections fail over one address family and succeed over the other.
    case familyBroken
    /// Connecting fails for another reason.
    case connectionFailed

    /// Small packets arrive, but full-size packets are lost without an ICMP error (a path MTU black hole).
    case packetsTooLarge

    // MARK: Security

    /// This machine's clock is wrong, so valid certificates are rejected.
    case clockWrong
    /// The certificate has expired.
    case certificateExpired
    /// The certificate is not valid yet, or this machine's clock is wrong.
    case certificateNotYetValid
    /// The certificate's issuer is not trusted.
    case certificateUntrusted
    /// A device or program on the path presents its own certificate in place of the server's.
    case certificateIntercepted
    /// The certificate was revoked.
    case certificateRevoked
    /// The certificate is for another name.
    case certificateWrongName
    /// The server does not speak TLS on this port.
    case notTLS
    /// The server and this program share no TLS version, cipher or protocol.
    case nothingInCommon
    /// TLS fails for another reason.
    case securityFailed

    // MARK: Answer

    /// The server does not speak HTTP.
    case notHTTP
    /// The server does not speak FTP.
    case notFTP
    /// The network requires the user to sign in, and answers in place of the server until then.
    case captivePortal
    /// The server redirects to another host.
    case ledElsewhere
    /// The server's redirects form a loop.
    case redirectLoop
    /// The server reports an error of its own (an HTTP status 5xx, or an FTP reply 4xx).
    case serverBroken
    /// The server refuses this request (an HTTP status 4xx, or an FTP reply about the file).
    case requestRefused
    /// The server limits the number of requests (an HTTP status 429).
    case requestsLimited
    /// The port expects TLS, and the URL is one without it.
    case tlsExpected
    /// The server did not answer the request.
    case answerMissing
    /// The server requires credentials.
    case credentialsWanted
    /// The server rejected the credentials.
    case credentialsRefused
    /// The server requires a client certificate.
    case clientCertificateWanted
    /// The server denies access (an HTTP status 403, or an FTP greeting that refuses service).
    case accessForbidden

    /// The rung of the ladder that the finding concerns.
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
            .requestsLimited, .tlsExpected, .answerMissing:
            .answer
        case .credentialsWanted, .credentialsRefused, .clientCertificateWanted, .accessForbidden: .authentication
        }
    }

    /// The failures on lower or equal rungs that this one causes.
    ///
    /// A failure is always a consequence of the failures below it. These are exceptions: they are on lower rungs, but
    /// disappear once the user has signed in to the network.
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
