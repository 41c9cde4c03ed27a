internal import EventLoops
public import Foundation
internal import RunLoopDelivery
public import ServiceDiscovery

/// A remote service to resolve and connect to, or a service of this machine to publish.
///
/// ```swift
/// let service = NetService(domain: "", type: "_http._tcp", name: "", port: 8080)
/// service.delegate = delegate
/// service.publish()                    // netServiceDidPublish(_:) reports when it is visible, and its name
/// ```
///
/// This is Foundation's class, which Linux lacks. An object is scheduled on the run loop of the thread that creates it.
/// Its delegate is called there, and that run loop must run. In Swift concurrency, the run loop of the main thread
/// usually does not run: use `ServicePublisher` and the related types there. Members may be called from any thread. The
/// object is retained while it resolves; publishing and monitoring end with the object.
open class NetService: NSObject, @unchecked Sendable {
    /// The most connections that wait for the run loop; further ones are refused.
    static let maximumAccepted = 128

    /// The type as given, such as `_http._tcp.`.
    public let type: String
    /// The engine that performs the operations.
    public let engine: DiscoveryEngine
    // All mutable state is behind this lock.
    let state: Locked<NetServiceState>
    let pump = EventPump(isIdle: true, isReentrant: true)

    /// Creates a service to publish.
    ///
    /// Nothing is checked before ``publish(options:)``, which reports failures to the delegate.
    ///
    /// - Parameters:
    ///   - domain: empty for the default domain, `local.`.
    ///   - type: `_application._tcp` or `_application._udp`, followed by subtypes after commas.
    ///   - name: the name that users see, at most 63 bytes of UTF-8; empty for this computer's name.
    ///   - port: the port, the same for IPv4 and IPv6. The caller or another program opens the socket.
    public convenience init(domain: String, type: String, name: String, port: Int32) {
        self.init(domain: domain, type: type, name: name, port: port, engine: .automatic)
    }

    /// Creates a service to resolve; its ``port`` is -1 until then. The domain is that of a found or saved service and
    /// must not be empty.
    public convenience init(domain: String, type: String, name: String) {
        self.init(domain: domain, type: type, name: name, port: -1, engine: .automatic)
    }

    /// Creates a service that uses the given engine.
    public init(domain: String, type: String, name: String, port: Int32 = -1, engine: DiscoveryEngine) {
        self.type = type
        self.engine = engine
        state = Locked(NetServiceState(name: name, domain: domain, port: Int(port)))
        super.init()
        schedule(on: RunLoopTarget(RunLoop.current))
    }

    deinit {
        end { _ in true }
        state.withLock { $0.monitoring.take() }?.end()
    }

    // MARK: Properties

    /// The object that receives the events. Not retained.
    open weak var delegate: (any NetServiceDelegate)? {
        get { state.withLock { Reference($0.delegate) }.value }
        set {
            let new = Reference(newValue)
            state.withLock { $0.delegate = new.value }
        }
    }

    /// The name that users see; after `netServiceDidPublish(_:)`, the name under which the service is published.
    open var name: String { state.withLock { $0.name } }
    /// The domain, such as `local.`. An empty one, for the default domain, is replaced when the service is published.
    open var domain: String { state.withLock { $0.domain } }
    /// The port; -1 if the service is not resolved.
    open var port: Int { state.withLock { $0.port } }
    /// The host name with the final dot; nil before resolving. Connect to it at ``port``.
    open var hostName: String? { state.withLock { $0.hostName } }
    /// Socket addresses (`sockaddr_in`, `sockaddr_in6`) with the port and, for link-local addresses, the interface; nil
    /// before resolving. Try one after the other, and resolve again for each use.
    open var addresses: [Data]? { state.withLock { $0.addresses } }
    /// Stored without effect, because Linux has no peer-to-peer links.
    open var includesPeerToPeer: Bool {
        get { state.withLock { $0.includesPeerToPeer } }
        set { state.withLock { $0.includesPeerToPeer = newValue } }
    }

    /// Whether name, type and domain are equal, without regard to the case of ASCII letters and to final dots.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NetService else { return false }
        return self === other || identity == other.identity
    }

    /// The hash of the values that ``isEqual(_:)`` compares. It changes when publishing renames the service.
    open override var hash: Int { identity.hashValue }

    private var identity: [String] {
        func folded(_ text: String) -> String {
            String(text.map { $0.isASCII ? Character($0.lowercased()) : $0 })
        }
        let ends = [type, domain].map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
        return ([name] + ends).map(folded)
    }

    /// Name, type and domain.
    open override var description: String { "\(name) \(type) \(domain)" }

    // MARK: Run loops

    /// Also calls the delegate on this run loop, in this mode.
    open func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        schedule(on: RunLoopTarget(aRunLoop, mode: mode))
    }

    /// Ends the delivery on this run loop in this mode. Without any run loop, events wait until the object is scheduled
    /// again.
    open func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        pump.unschedule(from: RunLoopTarget(aRunLoop, mode: mode))
    }
}

// MARK: - Activities

extension NetService {
    /// Begins an activity, unless another one is running; `event` is its first event.
    ///
    /// - Returns: a number that distinguishes the activity from later ones.
    func begin(
        _ activity: NetServiceState.Activity, first event: NetServiceEvent? = nil
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

    /// Delivers an event to the delegate.
    func post(_ event: NetServiceEvent) {
        state.withLock { $0.outbox.append(event) }
        pump.signal()
    }

    /// Ends the running activity if `condition` is true. The condition is evaluated with the lock held and may add
    /// events to the outbox, so an activity that has begun in the meantime is not ended. Returns whether the activity
    /// was ended.
    @discardableResult
    func end(if condition: @Sendable (inout NetServiceState) -> Bool) -> Bool {
        let work = state.withLock { condition(&$0) ? $0.takeWork() : nil }
        work?.end()
        return work != nil
    }
}

// MARK: - Resolving

extension NetService {
    /// Resolves the service within five seconds.
    @available(*, deprecated, message: "use resolve(withTimeout:)")
    public func resolve() {
        resolve(withTimeout: 5)
    }

    /// Resolves the service until the time limit or ``stop()``. Returns at once; results are reported to the delegate.
    ///
    /// - Parameter timeout: in seconds; 0 for no limit.
    public func resolve(withTimeout timeout: TimeInterval) {
        do throws(ServiceDiscoveryError) {
            guard timeout >= 0 else {
                throw ServiceDiscoveryError(.badArgument, name: "timeout", detail: "\(timeout)")
            }
            let service = try instance()
            let number = try begin(.resolving, first: .willResolve)
            let locations: NotifyingFeed<ResolvedService>
            do throws(ServiceDiscoveryError) {
                let feed = try ServiceResolver(service, engine: engine).start()
                locations = NotifyingFeed(feed) { [weak self] in self?.pump.signal() }
            } catch {
                end { state in
                    guard state.isUnderWay(number) else { return false }
                    state.outbox.append(.didNotResolve(error))
                    return true
                }
                return pump.signal()
            }
            let isWanted = state.withLock { state in
                // The service may have been stopped in the meantime.
                guard state.isUnderWay(number) else { return false }
                (state.locations, state.retainedSelf, state.hasResolved) = (locations, self, false)
                return true
            }
            if !isWanted { locations.stop() } else if timeout > 0 { limit(locations, to: timeout) }
            pump.signal()
        } catch {
            post(.didNotResolve(error))
        }
    }

    private func limit(_ locations: NotifyingFeed<ResolvedService>, to timeout: TimeInterval) {
        let end = Moment.now + .milliseconds(Int64(min(timeout, 1e9) * 1000))
        let timer = EventLoop.shared.schedule(at: end) { [weak self] in self?.expire(locations) }
        let isCurrent = state.withLock { state in
            guard state.locations === locations else { return false }
            state.timer = timer
            return true
        }
        if !isCurrent { timer.cancel() }
    }

    private func expire(_ locations: NotifyingFeed<ResolvedService>) {
        end { state in
            guard state.locations === locations else { return false }
            state.outbox.append(
                state.hasResolved ? .didStop : .didNotResolve(ServiceDiscoveryError(.timedOut, name: state.name)))
            return true
        }
        pump.signal()
    }

    /// Ends resolving, or ends publishing and withdraws the service. The delegate is notified. Has no effect if neither
    /// is running.
    public func stop() {
        end { state in
            guard state.activity != .none else { return false }
            state.outbox.append(.didStop)
            return true
        }
        pump.signal()
    }

    /// The service to resolve. Unlike in publishing, the domain must not be empty.
    func instance() throws(ServiceDiscoveryError) -> ServiceInstance {
        try ServiceInstance(name: name, type: ServiceType(type), domain: ServiceDomain(domain))
    }
}

// MARK: - TXT records

extension NetService {
    /// Encodes a TXT record for ``setTXTRecord(_:)``.
    ///
    /// Keys are printable ASCII without `=` and must differ in more than case. A key and its value have at most 254
    /// bytes together, and the whole record 65,535 with a length byte for each entry; at most 1,300 are recommended.
    ///
    /// - Returns: empty data if a rule is broken, which ``setTXTRecord(_:)`` rejects. `TXTRecord(dictionary:)` reports
    ///   the broken rule.
    public class func data(fromTXTRecord txtDictionary: [String: Data]) -> Data {
        data(fromTXTRecord: txtDictionary.mapValues { Optional($0) })
    }

    /// Encodes a TXT record with keys that have no value, marked by nil; this differs from an empty value.
    @_disfavoredOverload
    public class func data(fromTXTRecord txtDictionary: [String: Data?]) -> Data {
        let record = try? TXTRecord(dictionary: txtDictionary.mapValues { $0.map { [UInt8]($0) } })
        return record.map { Data($0.wireForm) } ?? Data()
    }

    /// Decodes a TXT record. Only the first entry of a duplicate key is used, in whatever case; a truncated end is
    /// ignored. A key without a value has empty data; `TXTRecord(wire:)` distinguishes the two.
    public class func dictionary(fromTXTRecord txtData: Data) -> [String: Data] {
        TXTRecord(wire: txtData).dictionary.mapValues { Data($0 ?? []) }
    }
}

// MARK: - Delivering events

extension NetService {
    private func schedule(on target: RunLoopTarget) {
        pump.schedule(on: target) { [weak self] in
            guard let self else { return }
            pump.deliver(on: target) { self.deliverNext() }
        }
    }

    /// Delivers one event to the delegate. Called on a run loop.
    private func deliverNext() -> EventPump.Step {
        guard let event = nextEvent() else {
            let isIdle = state.withLock { state in
                state.activity == .none && state.monitoring == nil && state.outbox.isEmpty
            }
            return isIdle ? .idle : .nothing
        }
        let delegate = delegate
        switch event {
        case .willPublish: delegate?.netServiceWillPublish(self)
        case .didPublish: delegate?.netServiceDidPublish(self)
        case .didNotPublish(let error): delegate?.netService(self, didNotPublish: Self.dictionary(of: error))
        case .willResolve: delegate?.netServiceWillResolve(self)
        case .didResolve: delegate?.netServiceDidResolveAddress(self)
        case .didNotResolve(let error): delegate?.netService(self, didNotResolve: Self.dictionary(of: error))
        case .didStop: delegate?.netServiceDidStop(self)
        case .didUpdate(let data): delegate?.netService(self, didUpdateTXTRecord: data)
        case .didNotMonitor(let error): delegate?.netService(self, didNotMonitor: Self.dictionary(of: error))
        case .didAccept(let connection):
            let (input, output) = connection()
            delegate?.netService(self, didAcceptConnectionWith: input, outputStream: output)
        }
        return .delivered
    }

    private func nextEvent() -> NetServiceEvent? {
        let (event, feeds) = state.withLock {
            state -> (
                NetServiceEvent?,
                (
                    names: NotifyingFeed<ServiceInstance>?, locations: NotifyingFeed<ResolvedService>?,
                    records: NotifyingFeed<TXTRecord>?
                )
            ) in
            if !state.outbox.isEmpty { return (state.outbox.removeFirst(), (nil, nil, nil)) }
            if state.isVisible, !state.accepted.isEmpty {
                return (.didAccept(state.accepted.removeFirst()), (nil, nil, nil))
            }
            return (nil, (state.names, state.locations, state.monitoring?.feed))
        }
        if let event { return event }
        return nextPublished(feeds.names) ?? nextResolved(feeds.locations) ?? nextRecord(feeds.records)
    }

    /// The event of the publisher's feed; nil if there is none. Reads until there is one, like ``nextRecord(_:)``.
    private func nextPublished(_ names: NotifyingFeed<ServiceInstance>?) -> NetServiceEvent? {
        while let result = names?.next() {
            switch result {
            case .success(let instance):
                let isNew = state.withLock { state in
                    // The service may become visible again under a known name, when an interface comes up.
                    guard state.names === names, !state.isVisible || state.name != instance.name else { return false }
                    (state.name, state.isVisible) = (instance.name, true)
                    if state.domain.isEmpty { state.domain = instance.domain.description }
                    return true
                }
                if isNew { return .didPublish }
            case .failure(let error):
                return end { $0.names === names } ? .didNotPublish(error) : nil
            }
        }
        return nil
    }

    private func nextResolved(_ locations: NotifyingFeed<ResolvedService>?) -> NetServiceEvent? {
        while let result = locations?.next() {
            switch result {
            case .success(let location):
                let addresses = location.addresses.map { address in
                    address.withSockAddr { pointer, length in Data(bytes: pointer, count: Int(length)) }
                }
                let isNew = state.withLock { state in
                    guard state.locations === locations else { return false }
                    (state.hostName, state.port, state.addresses) = (location.hostName, Int(location.port), addresses)
                    if !location.record.entries.isEmpty || location.isComplete { state.record = location.record }
                    state.hasResolved = true
                    return true
                }
                if isNew { return .didResolve }
            case .failure(let error):
                return end { $0.locations === locations } ? .didNotResolve(error) : nil
            }
        }
        return nil
    }
}
