import Glibc

@_spi(Packages) @testable import NetDiag

/// An environment with one fault, and the code that a diagnosis must report.
struct LadderFault: Sendable, CustomStringConvertible {
    var code: FindingCode
    var target = DiagnosisTarget.page
    var world: World

    var description: String { code.rawValue }

    init(_ code: FindingCode, _ target: DiagnosisTarget = .page, _ change: (inout World) -> Void) {
        self.code = code
        self.target = target
        world = .changed(change)
    }

    /// All faults.
    static let all: [LadderFault] = lower + names + proxies + connections + services

    private static func cutOff(_ world: inout World) {
        world.environment.network.defaultRoutes = []
        world.lookup = .failure(World.temporary)
        world.answers = [World.server: .failed("unreachable")]
    }

    private static let lower: [LadderFault] = [
        LadderFault(.noInterface) {
            $0.environment.network.interfaces = [World.loopback]
            cutOff(&$0)
        },
        LadderFault(.linkOff) {
            $0.environment.network.interfaces[1].isUp = false
            $0.environment.network.interfaces[1].hasCarrier = false
            cutOff(&$0)
        },
        LadderFault(.noCarrier) {
            $0.environment.network.interfaces[1].hasCarrier = false
            $0.lookup = .failure(World.temporary)
            $0.answers = [:]
        },
        LadderFault(.noAddress) {
            $0.environment.network.interfaces[1].addresses = []
            cutOff(&$0)
        },
        LadderFault(.linkLocalOnly) {
            $0.environment.network.interfaces[1].addresses = [
                InterfaceAddress(IPAddress("169.254.3.4")!, prefixLength: 16),
                InterfaceAddress(IPAddress("fe80::1")!, prefixLength: 64),
            ]
            cutOff(&$0)
        },
        LadderFault(.leaseExpired) {
            $0.environment.network.interfaces[1].addresses = []
            $0.environment.expiredLeases = [DHCPLease(interface: "eth0", address: World.host, expiry: 0)]
            cutOff(&$0)
        },
        LadderFault(.duplicateAddress) {
            $0.environment.network.interfaces[1].addresses[0].isDuplicate = true
            $0.lookup = .failure(World.temporary)
            $0.answers = [World.server: .silent]
        },
        LadderFault(.familyMissing) {
            $0.lookup = .success([World.host6])
            $0.route = nil
            $0.connection = World.unreachable
        },
        LadderFault(.noRoute) { cutOff(&$0) },
        LadderFault(.noRoute) {
            $0.route = nil
            $0.connection = World.unreachable
        },
        LadderFault(.routeRefused) {
            $0.route = Route(kind: .refused)
            $0.connection = StreamError(posix: EACCES)
        },
        LadderFault(.gatewaySilent) {
            $0.connection = World.timedOut
            $0.neighbors = [Neighbor(World.gateway, interfaceIndex: 2, state: .failed)]
        },
        // The name servers are behind the router, too.
        LadderFault(.gatewaySilent) {
            $0.lookup = .failure(World.temporary)
            $0.answers = [World.server: .silent]
            $0.neighbors = [Neighbor(World.gateway, interfaceIndex: 2, state: .resolving)]
        },
        LadderFault(.hostSilent) {
            $0.route = Route(kind: .unicast, interfaceIndex: 2)
            $0.connection = StreamError(posix: EHOSTUNREACH)
            $0.neighbors = [Neighbor(World.host, interfaceIndex: 2, state: .failed)]
        },
    ]

    private static let names: [LadderFault] = [
        LadderFault(.noNameServers) {
            $0.environment.nameServers = []
            $0.lookup = .failure(World.temporary)
        },
        LadderFault(.noNameServers) {
            $0.environment.isFallbackServer = true
            $0.lookup = .failure(World.temporary)
            $0.answers = [World.server: .failed("unreachable")]
        },
        LadderFault(.nameServersSilent) {
            $0.lookup = .failure(World.temporary)
            $0.answers = [World.server: .silent]
            $0.ping = .answered
        },
        LadderFault(.nameServersRefuse) {
            $0.lookup = .failure(World.temporary)
            $0.answers = [World.server: .refused]
        },
        LadderFault(.nameServersFail) {
            $0.lookup = .failure(World.temporary)
            $0.answers = [World.server: .failed("SERVFAIL")]
        },
        LadderFault(.nameServersOnlyTCP) {
            $0.lookup = .failure(World.temporary)
            $0.answers = [World.server: .silent]
            $0.answersByTCP = [World.server: .addresses([World.host])]
        },
        LadderFault(.nameServersOnlyUDP) {
            $0.lookup = .failure(World.temporary)
            $0.answers = [World.server: .truncated]
        },
        LadderFault(.nameServersOnlyUDP) {
            $0.lookup = .failure(World.temporary)
            $0.answers = [World.server: .silent]
            $0.nonexistentNameAnswers = [World.server: .noSuchName]
        },
        LadderFault(.nameUnknown) {
            $0.lookup = .failure(World.unknown)
            $0.answers = [World.server: .noSuchName]
        },
        LadderFault(.nameWithoutAddress) {
            $0.lookup = .failure(ResolverError(.noData))
            $0.answers = [World.server: .noAddress]
        },
        LadderFault(.nameLookupFailed) { $0.lookup = .failure(ResolverError(.system)) },
        LadderFault(.nameServerLies) {
            let wrong = IPAddress("203.0.113.66")!
            $0.environment.nameServers = [World.server, World.otherServer]
            $0.lookup = .success([wrong])
            $0.answers = [World.server: .addresses([wrong]), World.otherServer: .addresses([World.host])]
            $0.connections = [wrong: World.refused]
            $0.services = [World.host: $0.service]
        },
        LadderFault(.nameInvented, .plainPage) {
            $0.nonexistentNameAnswers = [World.server: .addresses([World.host])]
        },
        LadderFault(.nameBlocked) {
            let nowhere = IPAddress("0.0.0.0")!
            $0.lookup = .success([nowhere])
            $0.answers = [World.server: .addresses([nowhere])]
            $0.route = Route(kind: .local)
            $0.connection = World.refused
        },
        LadderFault(.hostsEntryStale) {
            $0.environment.hostsEntry = [IPAddress("198.51.100.99")!]
            $0.lookup = .success($0.environment.hostsEntry)
            $0.connection = World.timedOut
        },
    ]

    private static let proxies: [LadderFault] = [
        LadderFault(.proxySettingsUnreadable, .unreadable) { _ in },
        LadderFault(.proxyUnknown, .page.proxied()) {
            $0.lookup = .failure(World.unknown)
            $0.answers = [World.server: .noSuchName]
        },
        LadderFault(.proxyUnreachable, .page.proxied()) { $0.connection = World.refused },
        LadderFault(.proxyWrong, .page.proxied()) { $0.service = .proxyRefused(status: 405) },
        LadderFault(.proxyWrong, .plainPage.proxied()) { $0.service = .wrongProtocol },
        LadderFault(.proxyWrong, .page.proxied(.socks5h)) { $0.service = .proxyFailed(World.socks(.badState)) },
        LadderFault(.proxyCredentialsWanted, .page.proxied()) { $0.service = .proxyRefused(status: 407) },
        LadderFault(.proxyCredentialsWanted, .plainPage.proxied()) {
            $0.service = .answered(ServiceAnswer(status: 407))
        },
        LadderFault(.proxyCredentialsWanted, .page.proxied(.socks5h)) {
            $0.service = .proxyFailed(World.socks(.noAcceptableMethod))
        },
        LadderFault(.proxyForbids, .page.proxied()) { $0.service = .proxyRefused(status: 403) },
        LadderFault(.proxyForbids, .page.proxied(.socks5h)) { $0.service = .proxyFailed(World.socks(.notAllowed)) },
        LadderFault(.proxyFails, .page.proxied()) { $0.service = .proxyRefused(status: 502) },
        LadderFault(.proxyFails, .plainPage.proxied()) { $0.service = .answered(ServiceAnswer(status: 504)) },
        LadderFault(.proxyFails, .page.proxied(.socks5h)) { $0.service = .proxyFailed(World.socks(.hostUnreachable)) },
    ]

    private static let connections: [LadderFault] = [
        LadderFault(.portRefused) { $0.connection = World.refused },
        LadderFault(.noAnswer) { $0.connection = World.timedOut },
        LadderFault(.portFiltered) {
            $0.connection = World.timedOut
            $0.path = PathOutcome(routers: [World.gateway], isReached: true)
        },
        LadderFault(.connectionForbidden) {
            $0.connection = World.timedOut
            $0.path = PathOutcome(routers: [World.gateway], prohibitedBy: IPAddress("203.0.113.1"))
        },
        LadderFault(.connectionForbidden) {
            $0.connection = World.timedOut
            $0.path = PathOutcome(isBlockedLocally: true)
        },
        LadderFault(.hostUnreachable) { $0.connection = StreamError(posix: EHOSTUNREACH) },
        LadderFault(.connectionBroken) { $0.connection = StreamError(posix: ECONNRESET) },
        LadderFault(.connectionFailed) { $0.connection = StreamError(posix: EADDRNOTAVAIL) },
        LadderFault(.packetsTooLarge) {
            $0.service = .tlsFailed(World.timedOut)
            $0.sizes = PacketSizes(full: 1500, answered: [576, 1280])
        },
    ]

    private static let now: Int64 = 1_800_000_000

    private static let services: [LadderFault] = [
        LadderFault(.clockWrong) {
            $0.service = .tlsFailed(World.tls(.certificateNotYetValid))
            $0.inspection = Inspection(
                issuer: "CN=Root", validity: (now - 9)...(now + 9), serverTime: now, ownTime: now - 90_000_000)
        },
        LadderFault(.certificateExpired) {
            $0.service = .tlsFailed(World.tls(.certificateExpired))
            $0.inspection = Inspection(
                issuer: "CN=Root", validity: (now - 90)...(now - 9), serverTime: now, ownTime: now)
        },
        LadderFault(.certificateNotYetValid) { $0.service = .tlsFailed(World.tls(.certificateNotYetValid)) },
        LadderFault(.certificateUntrusted) { $0.service = .tlsFailed(World.tls(.unknownRoot)) },
        LadderFault(.certificateIntercepted) {
            $0.service = .tlsFailed(World.tls(.unknownRoot))
            $0.inspection = Inspection(issuer: "CN=FortiGate CA,O=Fortinet")
        },
        LadderFault(.certificateRevoked) { $0.service = .tlsFailed(World.tls(.certificateRevoked)) },
        LadderFault(.certificateWrongName) { $0.service = .tlsFailed(World.tls(.hostNameMismatch)) },
        LadderFault(.notTLS) { $0.service = .tlsFailed(World.tls(.protocolViolation)) },
        LadderFault(.nothingInCommon) { $0.service = .tlsFailed(World.tls(.protocolVersion)) },
        LadderFault(.securityFailed) { $0.service = .tlsFailed(World.tls(.badRecordMAC)) },
        LadderFault(.clientCertificateWanted) { $0.service = .tlsFailed(World.tls(.certificateRequired)) },
        LadderFault(.captivePortal, .plainPage) { $0.service = .answered(ServiceAnswer(status: 511)) },
        LadderFault(.captivePortal, .plainPage) {
            $0.service = .answered(ServiceAnswer(status: 302, location: "http://192.0.2.1/login"))
            $0.plainPage = $0.service
        },
        LadderFault(.captivePortal) {
            $0.service = .tlsFailed(World.tls(.hostNameMismatch))
            $0.plainPage = .answered(ServiceAnswer(status: 302, location: "https://portal.example.net/login"))
        },
        LadderFault(.captivePortal) {
            $0.connection = World.refused
            $0.plainPage = .answered(ServiceAnswer(status: 511))
        },
        LadderFault(.notHTTP) { $0.service = .wrongProtocol },
        LadderFault(.notFTP, .files) { $0.service = .wrongProtocol },
        LadderFault(.serverBroken, .files) { $0.service = .greeted(421) },
        LadderFault(.answerMissing) { $0.service = .unanswered(World.timedOut) },
        LadderFault(.redirectLoop) { $0.service = .redirectLoop(to: "/", wantsCookie: false) },
        LadderFault(.serverBroken) { $0.service = .answered(ServiceAnswer(status: 503)) },
        LadderFault(.requestRefused) { $0.service = .answered(ServiceAnswer(status: 404)) },
        LadderFault(.requestsLimited) { $0.service = .answered(ServiceAnswer(status: 429)) },
        LadderFault(.tlsExpected) { $0.service = .expectsTLS },
        LadderFault(.credentialsWanted) { $0.service = .answered(ServiceAnswer(status: 401, schemes: ["Basic"])) },
        LadderFault(.accessForbidden) { $0.service = .answered(ServiceAnswer(status: 403)) },
    ]
}

extension DiagnosisTarget {
    /// A target with unreadable proxy settings.
    fileprivate static let unreadable = DiagnosisTarget.page.through(.failure(StreamError(posix: EINVAL)))[0]
}
