public import FoundationEssentials
internal import Glibc
public import HTTPMessage

/// Tells why the network does not work: for a URL, for a stream that failed, or for this machine.
///
/// ```swift
/// do {
///     try await stream.opened()
/// } catch {
///     let diagnosis = await NetDiagnostic(read: stream, write: nil).diagnose()
///     print(diagnosis)     // what is broken, and what to do about it
/// }
/// ```
///
/// It climbs the ladder from this machine's links to an answer of the server and names the lowest rung that is broken. What
/// a stream's `ConnectionReport` knows already is not tried again. Nothing is sent to anybody but the target, the
/// configured name servers and proxies and the routers on the way; nothing is changed; no privileges are needed.
///
/// Replaces `CFNetDiagnosticRef`. One diagnostic may be used from several threads, and several at once.
public final class NetDiagnostic: Sendable {
    /// How long each step may take, and who does it.
    public struct Options: Sendable {
        /// For looking the name up. Default 5 s.
        public var lookupLimit: Duration = .seconds(5)
        /// For each name server. Default 2 s.
        public var nameServerLimit: Duration = .seconds(2)
        /// For connecting, and for a TLS handshake. Default 5 s.
        public var connectionLimit: Duration = .seconds(5)
        /// For the head of an answer. Default 10 s.
        public var answerLimit: Duration = .seconds(10)
        /// For pings, and for looking at the way. Default 1.5 s.
        public var pathLimit: Duration = .milliseconds(1500)
        /// Through which proxies targets are to be reached. Nil (default): as this machine's settings say
        /// (`ProxySettings.system()`). No credentials of theirs are sent. A script that chooses among them is loaded and run,
        /// as `ProxyScript` does it; TLS with its server, and with proxies, is as `ProxySettings.tls` says.
        public var proxies: ProxySettings?
        /// TLS with the target: which roots to trust, above all. Default: the machine's. Its `identity` is shown to a target that was
        /// verified, to nobody else.
        public var tls = TLSConfiguration()
        /// Who looks names up. Default: the system, as every other program.
        public var resolver: any Resolver = SystemResolver.shared

        /// The name servers that are asked when a name is in doubt. Default: those of `/etc/resolv.conf`.
        public var nameServers: [SocketAddress]?
        /// The program's name, shown to people. Default: that of the process. Replaces `CFNetDiagnosticSetName`.
        public var name = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "this program"

        /// The defaults.
        public init() {}
    }

    /// The ways to the target, in the order in which they are taken; at least one.
    private let ways: [DiagnosisTarget]
    private let read: ReadStream?
    private let write: WriteStream?
    /// What is known from elsewhere.
    private let known: LadderFacts
    private let options: Options

    private init(
        _ ways: [DiagnosisTarget], read: ReadStream? = nil, write: WriteStream? = nil,
        knowing facts: LadderFacts = LadderFacts(), _ options: Options
    ) {
        self.ways = ways
        self.read = read
        self.write = write
        known = facts
        self.options = options
    }

    /// For this machine's network in general.
    public convenience init(options: Options = Options()) {
        self.init([.machine], options)
    }

    /// For the way to a URL. Its user name, password and query are not used and not told to anyone.
    ///
    /// Replaces `CFNetDiagnosticCreateWithURL`.
    ///
    /// - Throws: `EINVAL` for a URL without a host or a port that can be told.
    public convenience init(url: URL, options: Options = Options()) throws(StreamError) {
        self.init(try DiagnosisTarget(url).through(options.proxySettings), options)
    }

    /// For a load that was made by somebody else: what its report, its error and its answer know is not tried again.
    ///
    /// ```swift
    /// let diagnostic = try NetDiagnostic(url: url, report: stream.report, error: error, response: nil)
    /// ```
    ///
    /// NetKit makes one of an HTTP or FTP stream with `NetDiagnostic(load:)`.
    ///
    /// - Parameters:
    ///   - url: what was to be loaded.
    ///   - report: what opening did, as far as it got.
    ///   - error: what the load ended with; nil if it did not fail.
    ///   - response: the head of the server's answer, or of the proxy's if `isFromProxy`.
    ///   - isFromProxy: a proxy answered in the server's place.
    ///   - routes: the ways that the load was to go: a report does not tell of a proxy that was never reached.
    ///   - options: limits, name servers, what may be asked.
    /// - Throws: `EINVAL` for a URL without a host or a port that can be told.
    public convenience init(
        url: URL, report: ConnectionReport, error: StreamError?, response: HTTPResponse? = nil,
        isFromProxy: Bool = false, routes: [ProxyRoute] = [], options: Options = Options()
    ) throws(StreamError) {
        let target = try DiagnosisTarget(url).through(report, or: routes)
        var facts = LadderFacts(report, error: error, of: target)
        facts.learn(error, of: target)
        if let response { facts.learn(response, isFromProxy: isFromProxy, of: target) }
        self.init([target], knowing: facts, options)
    }

    /// For streams, failed or not: where they go, and what their errors and reports know. With neither, for this machine.
    ///
    /// Keeps them alive, and changes nothing about them. Replaces `CFNetDiagnosticCreateWithStreams`.
    public convenience init(read: ReadStream?, write: WriteStream?, options: Options = Options()) {
        let report = read?.report ?? write?.report ?? ConnectionReport()
        var routes = read?[.proxies] ?? write?[.proxies] ?? []
        if routes.isEmpty, let socks = read?[.socksProxy] ?? write?[.socksProxy] { routes = [ProxyRoute(socks)] }
        let target = DiagnosisTarget(
            name: read?[.remoteHostName] ?? write?[.remoteHostName], port: read?[.remotePort] ?? write?[.remotePort],
            address: read?[.remoteAddress] ?? write?[.remoteAddress], report: report
        ).through(report, or: routes)
        self.init([target], read: read, write: write, options)
    }

    /// The status of the network on the way to the target, at once and without a packet.
    ///
    /// A stream that could not look its name up, found no way or no answer makes it at best indeterminate; one that is open
    /// makes it up. Replaces `CFNetDiagnosticCopyNetworkStatusPassively`.
    public func passiveStatus() -> PassiveStatus {
        let halves = [read?.status, write?.status].compactMap(\.self)
        if halves.contains(where: { [.open, .reading, .writing, .atEnd].contains($0) }) {
            return PassiveStatus(status: .up, sentence: .networkFine)
        }
        let facts = knownFacts
        let status = PassiveStatus.current(to: facts.addresses(of: target))
        guard status.status == .up, let error = read?.error ?? write?.error, NetDiagnostic.isAboutNetwork(error) else {
            return status
        }
        return PassiveStatus(status: .indeterminate, sentence: error.sentence)
    }

    /// Finds out what is broken. Ends by itself, within the longest single limit of ``Options``; cancelling the task ends it
    /// early, with what is known by then.
    ///
    /// Where the settings name several ways and the first one's proxy cannot be reached, the others are looked at as well.
    public func diagnose() async -> Diagnosis {
        await LadderClimb(options).diagnose(ways, knowing: knownFacts)
    }

    /// Starts a diagnosis for a person, and returns at once: the presenter is told, and the task gives the result to the
    /// program as well.
    ///
    /// Replaces `CFNetDiagnosticDiagnoseProblemInteractively`. May be called while a stream's error is being delivered.
    @discardableResult
    public func diagnoseInteractively(
        with presenter: any DiagnosisPresenter = StandardErrorPresenter()
    ) -> Task<Diagnosis, Never> {
        Task { [self] in
            presenter.began(target.place, for: options.name)
            let diagnosis = await diagnose()
            presenter.finished(diagnosis)
            return diagnosis
        }
    }

    private var target: DiagnosisTarget { ways.first ?? .machine }

    private var knownFacts: LadderFacts {
        guard read != nil || write != nil else { return known }
        let error = read?.error ?? write?.error
        var facts = LadderFacts(read?.report ?? write?.report ?? ConnectionReport(), error: error, of: target)
        facts.learn(error, of: target)
        return facts
    }

    private static func isAboutNetwork(_ error: StreamError) -> Bool {
        error.domain == .netDB || [ENETUNREACH, EHOSTUNREACH, ETIMEDOUT, ENETDOWN].contains { error.isPOSIX($0) }
    }
}

extension NetDiagnostic.Options {
    fileprivate var proxySettings: Result<ProxySettings, StreamError> {
        if let proxies { return .success(proxies) }
        do throws(StreamError) {
            return .success(try ProxySettings.system() ?? ProxySettings())
        } catch {
            return .failure(error)
        }
    }
}

extension LadderLimits {
    init(_ options: NetDiagnostic.Options) {
        self.init(
            lookup: options.lookupLimit, nameServer: options.nameServerLimit, connection: options.connectionLimit,
            answer: options.answerLimit, path: options.pathLimit)
    }
}

extension DiagnosisTarget {
    /// The rungs that the way to this target has.
    var rungs: [Rung] {
        if host == nil { return [.link, .address, .route] }
        var rungs: [Rung] = [.link, .address, .route, .gateway]
        if firstLiteral == nil { rungs.append(.name) }
        if proxy != nil || proxyScript != nil || proxyFault != nil { rungs.append(.proxy) }
        if port > 0 { rungs.append(.connection) }
        if isSecure { rungs.append(.security) }
        if service != .bytes { rungs += [.answer, .authentication] }
        return rungs
    }
}
