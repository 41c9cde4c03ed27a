public import FoundationEssentials
internal import Glibc
public import HTTPMessage
@_spi(Packages) internal import StreamKit

/// Finds out why a connection fails: for a URL, for a failed stream, or for this machine's network.
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
/// A diagnosis checks every rung from this machine's links to an answer of the server and names the lowest one that is broken.
/// Steps that a stream's `ConnectionReport` already contains are not repeated. A diagnosis contacts only the target, the
/// configured name servers and proxies, and the routers on the path. It changes nothing and needs no privileges.
///
/// A diagnostic may be used from several threads at the same time. Replaces `CFNetDiagnosticRef`.
public final class NetDiagnostic: Sendable {
    /// The time limits of a diagnosis, and the resolver, proxies and TLS configuration that it uses.
    public struct Options: Sendable {
        /// The limit for looking up a name. Default 5 s.
        public var lookupTimeout: Duration = .seconds(5)
        /// The limit for each name server. Default 2 s.
        public var nameServerTimeout: Duration = .seconds(2)
        /// The limit for connecting, and for a TLS handshake; also for those with a proxy. Default 5 s.
        public var connectionTimeout: Duration = .seconds(5)
        /// The limit for receiving an answer of a server or a proxy, and for one run of a proxy script. Default 10 s.
        public var responseTimeout: Duration = .seconds(10)
        /// The limit for pings and for tracing the path. Default 1.5 s.
        public var pathTimeout: Duration = .milliseconds(1500)
        /// The proxies through which to reach the target. Nil (default) means this machine's settings (`ProxySettings.system()`).
        ///
        /// Their credentials are not sent. A proxy script is loaded and run as `ProxyScript` does it. TLS with its server, and with
        /// proxies, uses `ProxySettings.tls`.
        public var proxies: ProxySettings?
        /// The TLS configuration for the target, such as the trusted roots. Default: the machine's roots.
        ///
        /// Its `identity` is shown only to a target whose certificate was verified.
        public var tls = TLSConfiguration()
        /// The resolver that looks up names. Default: the system's, which other programs use.
        public var resolver: any Resolver = SystemResolver.shared

        /// The name servers to query directly when a name is in doubt. Nil (default) means those of `/etc/resolv.conf`.
        public var nameServers: [SocketAddress]?
        /// The program's name, for display. Default: the name of the process. Replaces `CFNetDiagnosticSetName`.
        public var name =
            CommandLine.arguments.first?.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) }
            ?? "this program"

        /// Creates options with the default values.
        public init() {}
    }

    /// The routes to the target, in order of preference; at least one.
    private let targets: [DiagnosisTarget]
    private let read: ReadStream?
    private let write: WriteStream?
    /// Facts known before the diagnosis.
    private let known: LadderFacts
    private let options: Options

    private init(
        _ targets: [DiagnosisTarget], read: ReadStream? = nil, write: WriteStream? = nil,
        knowing facts: LadderFacts = LadderFacts(), _ options: Options
    ) {
        self.targets = targets
        self.read = read
        self.write = write
        known = facts
        self.options = options
    }

    /// Creates a diagnostic for this machine's network.
    public convenience init(options: Options = Options()) {
        self.init([.machine], options)
    }

    /// Creates a diagnostic for a URL. The URL's user name, password and query are neither used nor sent.
    ///
    /// Replaces `CFNetDiagnosticCreateWithURL`.
    ///
    /// - Throws: `EINVAL` for a URL without a host, or without a port if its scheme has no known default port.
    public convenience init(url: URL, options: Options = Options()) throws(StreamError) {
        self.init(try DiagnosisTarget(url).through(options.proxySettings), options)
    }

    /// Creates a diagnostic for a load that has ended. Steps that its report, error and response describe are not repeated.
    ///
    /// ```swift
    /// let diagnostic = try NetDiagnostic(url: url, report: stream.report, error: error, response: nil)
    /// ```
    ///
    /// For an HTTP or FTP stream, use NetKit's `NetDiagnostic(load:of:)`.
    ///
    /// - Parameters:
    ///   - url: The URL of the load.
    ///   - report: The report of opening the stream, as far as it got.
    ///   - error: The error that ended the load; nil if it did not fail.
    ///   - response: The head of the response, from the server, or from the proxy if `isFromProxy`.
    ///   - isFromProxy: Whether a proxy answered instead of the server.
    ///   - address: The peer of the connection that the response came on. It is needed for a reused connection, because a report
    ///     contains only what the load itself opened.
    ///   - routes: The routes of the load. They are needed because a report does not contain a proxy that was never reached.
    ///   - options: The options of the diagnosis.
    /// - Throws: `EINVAL` for a URL without a host, or without a port if its scheme has no known default port.
    public convenience init(
        url: URL, report: ConnectionReport, error: StreamError?, response: HTTPResponse? = nil,
        isFromProxy: Bool = false, address: SocketAddress? = nil, routes: [ProxyRoute] = [],
        options: Options = Options()
    ) throws(StreamError) {
        let target = try DiagnosisTarget(url).through(report, or: routes)
        var facts = LadderFacts(report, error: error, of: target)
        facts.learn(error, of: target)
        if let response { facts.learn(response, isFromProxy: isFromProxy, of: target, at: address) }
        self.init([target], knowing: facts, options)
    }

    /// Creates a diagnostic for the target of streams, failed or not, using their errors and reports. Without a stream, it is for
    /// this machine's network.
    ///
    /// It retains the streams and does not change them. Replaces `CFNetDiagnosticCreateWithStreams`.
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

    /// The status of the network between this machine and the target, computed immediately and without sending a packet.
    ///
    /// An open stream makes the status `up`. A stream that failed because of a lookup, a missing route or a timeout makes it
    /// `indeterminate` at best. Replaces `CFNetDiagnosticCopyNetworkStatusPassively`.
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

    /// Finds out what is broken.
    ///
    /// The diagnosis ends within the longest single limit of ``Options``. Cancelling the task ends it early, with the findings so
    /// far. If the settings name several routes and the proxy of the first cannot be reached, the others are checked as well.
    public func diagnose() async -> Diagnosis {
        await LadderDriver(options).diagnose(targets, knowing: knownFacts)
    }

    /// Starts a diagnosis that `presenter` shows to the user, and returns immediately. The task returns the result.
    ///
    /// May be called while a stream's error is being delivered. Replaces `CFNetDiagnosticDiagnoseProblemInteractively`.
    @discardableResult
    public func diagnoseInteractively(
        with presenter: any DiagnosisPresenter = StandardErrorPresenter()
    ) -> Task<Diagnosis, Never> {
        Task { [self] in
            presenter.began(target.hostAndPort, for: options.name)
            let diagnosis = await diagnose()
            presenter.finished(diagnosis)
            return diagnosis
        }
    }

    private var target: DiagnosisTarget { targets.first ?? .machine }

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
            lookup: options.lookupTimeout, nameServer: options.nameServerTimeout, connection: options.connectionTimeout,
            answer: options.responseTimeout, path: options.pathTimeout)
    }
}

extension NetDiagnostic {
    private enum WatchEvent: Sendable {
        case changed
        case found(Diagnosis)
        case timerFired
    }

    /// Diagnoses repeatedly and returns a diagnosis now, and another one whenever the cause changes or disappears.
    ///
    /// ```swift
    /// for await diagnosis in diagnostic.changes() { print(diagnosis) }
    /// ```
    ///
    /// It diagnoses when the kernel reports a change of the network, and also at intervals, as set by `pace`: several changes in
    /// quick succession count as one, and the checks of a broken network become less frequent. Watching ends when the iteration
    /// ends. A slow consumer receives only the newest diagnosis.
    public func changes(pace: WatchPace = WatchPace()) -> AsyncStream<Diagnosis> {
        let (stream, diagnoses) = AsyncStream<Diagnosis>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let task = Task { [self] in
            await watch(pace) { diagnoses.yield($0) }
            diagnoses.finish()
        }
        diagnoses.onTermination = { _ in task.cancel() }
        return stream
    }

    private func watch(_ pace: WatchPace, report: @Sendable (Diagnosis) -> Void) async {
        let (events, continuation) = AsyncStream<WatchEvent>.makeStream()
        var machine = WatchMachine(pace: pace, now: .now)
        var latest: Diagnosis?
        var timer: ContinuousClock.Instant?
        // A group that keeps the results of its tasks would grow with each check and each timer.
        await withDiscardingTaskGroup { group in
            // Without notifications of the kernel, the intervals remain.
            if let monitor = try? NetworkMonitor() {
                group.addTask { for await _ in monitor.changes() { continuation.yield(.changed) } }
            }
            var iterator = events.makeAsyncIterator()
            while !Task.isCancelled {
                switch machine.next(now: .now) {
                case .check:
                    group.addTask { [self] in continuation.yield(.found(await diagnose())) }
                    continue
                case .report:
                    if let latest { report(latest) }
                    continue
                case .wait(let time) where timer.map { $0 > time } ?? true:
                    timer = time
                    group.addTask {
                        try? await EventLoop.shared.sleep(until: Moment(time))
                        continuation.yield(.timerFired)
                    }
                case .wait, .waitForCheck: break
                }
                guard let event = await iterator.next() else { break }
                switch event {
                case .changed: machine.changed(now: .now)
                case .found(let diagnosis):
                    latest = diagnosis
                    machine.found(diagnosis.cause?.code, now: .now)
                case .timerFired: if timer.map({ $0 <= .now }) ?? false { timer = nil }
                }
            }
            group.cancelAll()
            continuation.finish()
        }
    }
}

/// Presents a diagnosis to the user, on a terminal, in a window or in a log.
///
/// The methods may be called on any thread, one call at a time.
public protocol DiagnosisPresenter: Sendable {
    /// Called when a diagnosis of `target` begins on behalf of the program `name`.
    func began(_ target: String, for name: String)
    /// Called when the diagnosis has ended.
    func finished(_ diagnosis: Diagnosis)
}

/// Writes diagnoses to standard error, without control characters.
public struct StandardErrorPresenter: DiagnosisPresenter {
    /// Creates a presenter.
    public init() {}

    /// Writes the name of the program and the target.
    public func began(_ target: String, for name: String) {
        write("\(name): diagnosing \(target) …")
    }

    /// Writes the cause and the advice, or that the target works.
    public func finished(_ diagnosis: Diagnosis) {
        write(diagnosis.description)
    }

    private func write(_ text: String) {
        // Control characters other than line ends could change the state of a terminal.
        let shown = text.unicodeScalars.map { scalar in
            scalar == "\n" || !(scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)) ? String(scalar) : "?"
        }
        let line = Array((shown.joined() + "\n").utf8)
        _ = line.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
    }
}
