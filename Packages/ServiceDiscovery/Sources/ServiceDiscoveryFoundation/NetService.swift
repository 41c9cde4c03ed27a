internal import EventLoops
public import Foundation
internal import RunLoopDelivery
public import ServiceDiscovery

/// One service: a remote one to be resolved and connected to, or one of this machine to be published.
///
/// ```swift
/// let service = NetService(domain: "", type: "_http._tcp", name: "", port: 8080)
/// service.delegate = self
/// service.publish()                    // netServiceDidPublish(_:) tells when it is visible, under which name
/// ```
///
/// Foundation's class of that name, which Linux lacks. An object is scheduled on the run loop of the thread that makes it;
/// the delegate is called there, and that loop has to run. Under Swift concurrency nobody runs the main thread's: use
/// `ServicePublisher` and its siblings. Members may be called from any thread. While it resolves, the object is kept alive;
/// what is published or monitored ends with it.
open class NetService: NSObject, @unchecked Sendable {
    /// Connections that wait for the run loop at most; more are refused.
    static let mostAccepted = 128

    /// The type, such as `_http._tcp.`, as it was given.
    public let type: String
    /// The domain, such as `local.`, as it was given.
    public let domain: String
    /// Who does the work.
    public let engine: DiscoveryEngine
    // Everything that changes is behind this lock.
    let state: Locked<NetServiceState>
    let loops = RunLoopPlaces()

    /// A service to be published.
    ///
    /// Nothing is checked before ``publish(options:)``, which tells the delegate.
    ///
    /// - Parameters:
    ///   - domain: empty for the default, which is `local.`
    ///   - type: `_application._tcp` or `_application._udp`, with subtypes behind commas.
    ///   - name: for people, at most 63 bytes of UTF-8; empty for this computer's.
    ///   - port: the same for IPv4 and IPv6; the socket itself is the caller's affair, or another program's.
    public convenience init(domain: String, type: String, name: String, port: Int32) {
        self.init(domain: domain, type: type, name: name, port: port, engine: .automatic)
    }

    /// A service to be resolved: its ``port`` is -1 until then. The domain is one that was found, or saved, and not empty.
    public convenience init(domain: String, type: String, name: String) {
        self.init(domain: domain, type: type, name: name, port: -1, engine: .automatic)
    }

    /// As the others, with another engine than the one that is taken by default.
    public init(domain: String, type: String, name: String, port: Int32 = -1, engine: DiscoveryEngine) {
        self.domain = domain
        self.type = type
        self.engine = engine
        state = Locked(NetServiceState(name: name, port: Int(port)))
        super.init()
        loops.onDelivery { [weak self] in self?.tell() ?? .idle }
        loops.add(RunLoopTarget(RunLoop.current))
    }

    deinit {
        end { _ in true }
        state.withLock { $0.monitoring.take() }?.end()
    }

    // MARK: What it is

    /// Told what becomes of it. Not kept alive.
    open weak var delegate: (any NetServiceDelegate)? {
        get { state.withLock { Reference($0.delegate) }.value }
        set {
            let new = Reference(newValue)
            state.withLock { $0.delegate = new.value }
        }
    }

    /// The name for people; after `netServiceDidPublish(_:)` the one that the service has got.
    open var name: String { state.withLock { $0.name } }
    /// The port; -1 of a service that is not resolved.
    open var port: Int { state.withLock { $0.port } }
    /// The host's name, with a dot at the end; nil before resolving. What to connect to, with ``port``.
    open var hostName: String? { state.withLock { $0.hostName } }
    /// Socket addresses (`sockaddr_in`, `sockaddr_in6`) with the port and, for link-local ones, the interface; nil before
    /// resolving. Try one after the other, and resolve again for every use.
    open var addresses: [Data]? { state.withLock { $0.addresses } }
    /// Stored, and without effect: there are no peer-to-peer links here.
    open var includesPeerToPeer: Bool {
        get { state.withLock { $0.includesPeerToPeer } }
        set { state.withLock { $0.includesPeerToPeer = newValue } }
    }

    /// Equal if name, type and domain are, but for the case of ASCII letters and dots at the end.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NetService else { return false }
        return self === other || identity == other.identity
    }

    /// Of what ``isEqual(_:)`` compares. It changes when publishing brings another name.
    open override var hash: Int { identity.hashValue }

    private var identity: [String] {
        func folded(_ text: String) -> String {
            String(text.map { $0.isASCII ? Character($0.lowercased()) : $0 })
        }
        let ends = [type, domain].map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
        return ([name] + ends).map(folded)
    }

    /// The three in one.
    open override var description: String { "\(name) \(type) \(domain)" }

    // MARK: Run loops

    /// Has the delegate called on this run loop, too, in this mode.
    open func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        loops.add(RunLoopTarget(aRunLoop, mode: mode))
    }

    /// Ends that. An object that is scheduled nowhere tells nothing, until it is scheduled again.
    open func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        loops.remove(RunLoopTarget(aRunLoop, mode: mode))
    }
}

// MARK: - Inside

extension NetService {
    /// Begins something, unless something else is under way; `event` is the first that the delegate is told of it.
    ///
    /// - Returns: the number that tells it from what begins later.
    func begin(
        _ activity: NetServiceState.Activity, telling event: NetServiceEvent? = nil
    ) throws(ServiceDiscoveryError) -> Int {
        let number = state.withLock { state -> Int? in
            guard state.activity == .none else { return nil }
            state.lastNumber += 1
            (state.activity, state.activityNumber) = (activity, state.lastNumber)
            if let event { state.outbox.append(event) }
            return state.lastNumber
        }
        guard let number else { throw ServiceDiscoveryError(.busy, name: name) }
        return number
    }

    /// Has the delegate told.
    func post(_ event: NetServiceEvent) {
        state.withLock { $0.outbox.append(event) }
        loops.ring()
    }

    /// Ends what is under way if `isMeant` says so, which is asked under the same lock and may add to the outbox: what
    /// begins meanwhile in its place is not ended. True if it was.
    @discardableResult
    func end(if isMeant: @Sendable (inout NetServiceState) -> Bool) -> Bool {
        let work = state.withLock { isMeant(&$0) ? $0.takeWork() : nil }
        work?.end()
        return work != nil
    }
}
