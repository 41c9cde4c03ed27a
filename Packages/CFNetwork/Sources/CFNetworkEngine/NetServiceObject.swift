internal import CFNetworkC
internal import CFNetworkC.Runtime
@preconcurrency internal import CoreFoundation
internal import EventLoops
internal import HostResolver
internal import RunLoopDelivery
internal import ServiceDiscovery

/// The state of a CFNetService.
///
/// The object owns this state, which refers to it weakly: an event that arrives while another thread releases the last reference is
/// dropped, and the operation ends with the state.
final class NetServiceState: ObjectState, @unchecked Sendable {
    // The lock protects what is known of the service. The object is set once, before the program has it; the strings are never changed.
    static let typeID = cfn_comparable_class_register("CFNetService")

    /// The function that is called, and its pointer.
    struct Client: Sendable {
        let callback: CFNetServiceClientCallBack
        let info: ClientInfo
    }

    /// What is known of a service.
    struct Facts: Sendable {
        var name: String
        var port: Int32
        var hostName: String?
        var addresses: [SocketAddress]?
        var record = AnnouncedRecord()
    }

    private enum Activity {
        case none
        case registering(ServicePublisher)
        case resolving
    }

    private struct State {
        var facts: Facts
        var client: Client?
        var activity = Activity.none
    }

    let domain: String
    let type: String
    let domainObject: CFString
    let typeObject: CFString
    private let state: Locked<State>
    private weak var object: CFNetService?
    private let name = KeptObject<String, CFString>()
    private let hostName = KeptObject<String, CFString>()
    private let addresses = KeptObject<[SocketAddress], CFArray>()
    private let record = KeptObject<[UInt8], CFData>()
    private let information = KeptObject<[UInt8], CFString>()
    /// Nil only while the state is initialized.
    private var operation: ServiceOperation?

    private init(domain: String, type: String, _ facts: Facts) {
        self.domain = domain
        self.type = type
        domainObject = cfString(domain).takeRetainedValue()
        typeObject = cfString(type).takeRetainedValue()
        state = Locked(State(facts: facts))
        super.init()
        operation = ServiceOperation { [weak self] in self?.take($0) }
    }

    /// Creates a CFNetService.
    static func makeService(
        _ allocator: CFAllocator?, domain: String, type: String, _ facts: Facts
    ) -> Unmanaged<CFNetService>? {
        let state = NetServiceState(domain: domain, type: type, facts)
        let object: Unmanaged<CFNetService>? = state.makeObject(allocator, typeID)
        state.object = object?.takeUnretainedValue()
        return object
    }

    /// Creates the CFNetService of a service that was found.
    static func makeService(_ service: ServiceInstance) -> Unmanaged<CFNetService>? {
        let type = service.type.description
        return makeService(
            nil, domain: service.domain.description, type: type.hasSuffix(".") ? type : "\(type).",
            Facts(name: service.name, port: -1))
    }

    override var summary: String { "\(facts.name) \(type) \(domain)" }

    override func isEqual(to other: ObjectState) -> Bool {
        guard let other = other as? NetServiceState else { return false }
        return identity == other.identity
    }

    override var hashCode: Int { identity.hashValue }

    /// Name, type and domain, in a form that is the same for equal services.
    private var identity: [String] {
        let parts = [type, domain.isEmpty ? "local" : domain].map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
        return ([facts.name] + parts).map { $0.lowercased() }
    }

    /// What is known of the service.
    var facts: Facts { state.withLock { $0.facts } }

    /// The service to resolve, to monitor or to connect to.
    func instance() throws(ServiceDiscoveryError) -> ServiceInstance {
        try ServiceInstance(
            name: facts.name, type: ServiceType(type), domain: domain.isEmpty ? .local : ServiceDomain(domain))
    }

    func nameObject() -> Unmanaged<CFString> { nullable(name.object(for: facts.name) { cfString($0) }) }
    func hostNameObject() -> Unmanaged<CFString>? { hostName.object(for: facts.hostName) { cfString($0) } }
    func recordObject() -> Unmanaged<CFData>? { record.object(for: facts.record.value) { cfData($0) } }
    /// The strings of the TXT record, separated by bytes of value 1.
    func informationObject() -> Unmanaged<CFString>? {
        information.object(for: facts.record.value) { record in
            cfString(
                TXTRecord(wire: record).strings.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\u{1}"))
        }
    }
    func addressObjects() -> Unmanaged<CFArray>? {
        addresses.object(for: facts.addresses) { cfArray($0.map { cfData($0.sockaddrBytes) }) }
    }

    func schedule(on target: RunLoopTarget) { operation?.schedule(on: target) }
    func unschedule(from target: RunLoopTarget) { operation?.unschedule(from: target) }

    func setClient(_ client: Client?) {
        let former = state.withLock { state in
            let former = state.client
            state.client = client
            return former
        }
        // The former pointer is released here, outside the lock: its function may use the service.
        withExtendedLifetime(former) {}
    }

    /// Sets the TXT record. Returns false if it is refused.
    func setRecord(_ bytes: [UInt8]) -> Bool {
        let record = TXTRecord(wire: bytes)
        guard bytes.isEmpty || record.wireForm == bytes, record.size <= TXTRecord.maximumPublishedSize else {
            return false
        }
        let isRunning = operation?.isRunning ?? false
        let next = state.withLock { state -> (publisher: ServicePublisher?, step: AnnouncedRecord.Step)? in
            switch state.activity {
            case .resolving where isRunning: nil
            case .registering(let publisher): (publisher, state.facts.record.set(bytes))
            // A registration that is about to begin uses this record.
            case .resolving, .none: (nil, state.facts.record.set(bytes))
            }
        }
        guard let next else { return false }
        guard let publisher = next.publisher else { return true }
        return announce(next.step, by: publisher, unlessRefused: bytes)
    }

    /// Updates a registration until it announces the record that was set last. Returns false if it has refused the given one.
    @discardableResult
    private func announce(
        _ first: AnnouncedRecord.Step, by publisher: ServicePublisher, unlessRefused own: [UInt8]? = nil
    ) -> Bool {
        var (step, isRefused) = (first, false)
        while case .update(let record, let registration) = step {
            do throws(ServiceDiscoveryError) {
                try publisher.update(TXTRecord(wire: record ?? []))
                step = state.withLock { $0.facts.record.updated(registration, to: record) }
            } catch  where error.code == .invalidated {
                // The registration has ended; the service keeps its record.
                state.withLock { $0.facts.record.end(registration) }
                return true
            } catch {
                isRefused = isRefused || record == own
                step = state.withLock { $0.facts.record.refused(record, by: registration) }
            }
        }
        return !isRefused
    }

    // MARK: Operations

    func register(renames: Bool) throws(ServiceFailure) {
        guard let operation else { return }
        try operation.run { () throws(ServiceDiscoveryError) in
            let (facts, registration, record) = state.withLock { state in
                let (registration, record) = state.facts.record.begin()
                return (state.facts, registration, record)
            }
            let publisher: ServicePublisher
            do throws(ServiceDiscoveryError) {
                publisher = try publish(facts, record, renames: renames)
            } catch {
                state.withLock { $0.facts.record.end(registration) }
                throw error
            }
            let step = state.withLock { state in
                state.activity = .registering(publisher)
                return state.facts.record.updated(registration, to: record)
            }
            announce(step, by: publisher)
            return ServiceFeed(publisher)
        }
    }

    private func publish(
        _ facts: Facts, _ record: [UInt8]?, renames: Bool
    ) throws(ServiceDiscoveryError) -> ServicePublisher {
        guard let port = UInt16(exactly: facts.port) else {
            throw ServiceDiscoveryError(.badArgument, name: "port", detail: "\(facts.port)")
        }
        var advertisement = ServiceAdvertisement(
            name: facts.name, type: try ServiceType(type), domain: domain.isEmpty ? nil : try ServiceDomain(domain),
            port: port, record: TXTRecord(wire: record ?? []))
        advertisement.renamesOnConflict = renames
        return try ServicePublisher(advertisement)
    }

    func resolve(within timeout: Double) throws(ServiceFailure) {
        guard let operation else { return }
        let limit = timeout > 0 ? ContinuousClock.now + .milliseconds(Int64(min(timeout, 1e9) * 1000)) : nil
        try operation.run(until: limit, grace: .milliseconds(250), isEnough: { _ in true }) {
            () throws(ServiceDiscoveryError) in
            let feed = try ServiceResolver(instance()).start()
            state.withLock { $0.activity = .resolving }
            return ServiceFeed(feed) { .resolved($0) }
        }
    }

    func cancel() { operation?.stop() }

    private func take(_ event: Result<ServiceEvent, ServiceFailure>) {
        let client = state.withLock { state in
            switch event {
            case .success(.published(let instance)): state.facts.name = instance.name
            case .success(.resolved(let service)):
                state.facts.hostName = service.hostName
                state.facts.port = Int32(service.port)
                state.facts.addresses = service.addresses
                if !service.record.entries.isEmpty || service.isComplete {
                    state.facts.record = AnnouncedRecord(service.record.wireForm)
                }
            case .success: break
            case .failure:
                state.activity = .none
                state.facts.record.end()
            }
            return state.client
        }
        guard let object, let client else { return }
        var error = event.streamError
        client.callback(object, &error, client.info.pointer)
    }
}

extension Result<ServiceEvent, ServiceFailure> {
    /// The error for a callback: {0, 0} for an event.
    var streamError: CFStreamError {
        switch self {
        case .success: CFStreamError()
        case .failure(let failure): failure.streamError
        }
    }
}

/// The state of a CFNetServiceMonitor.
final class NetServiceMonitorState: ObjectState, @unchecked Sendable {
    // The lock protects the client. The object is set once, before the program has it.
    static let typeID = cfn_class_register("CFNetServiceMonitor")

    private struct Client: Sendable {
        let callback: CFNetServiceMonitorClientCallBack
        let info: ClientInfo
    }

    private let service: CFNetService
    private let client: Locked<Client?>
    private weak var object: CFNetServiceMonitor?
    /// Nil only while the state is initialized.
    private(set) var operation: ServiceOperation?

    private init(_ service: CFNetService, _ callback: @escaping CFNetServiceMonitorClientCallBack, _ info: ClientInfo) {
        self.service = service
        client = Locked(Client(callback: callback, info: info))
        super.init()
        operation = ServiceOperation { [weak self] in self?.take($0) }
    }

    /// Creates a CFNetServiceMonitor.
    static func makeMonitor(
        _ allocator: CFAllocator?, _ service: CFNetService, _ callback: @escaping CFNetServiceMonitorClientCallBack,
        _ info: ClientInfo
    ) -> Unmanaged<CFNetServiceMonitor>? {
        let state = NetServiceMonitorState(service, callback, info)
        let object: Unmanaged<CFNetServiceMonitor>? = state.makeObject(allocator, typeID)
        state.object = object?.takeUnretainedValue()
        return object
    }

    private var serviceState: NetServiceState { CFNetworkEngine.state(of: service) }

    override var summary: String { serviceState.summary }

    func start(_ type: Int32) throws(ServiceFailure) {
        guard let operation else { return }
        try operation.run { () throws(ServiceDiscoveryError) in
            guard type == CFNetServiceMonitorType.TXT.rawValue else {
                throw ServiceDiscoveryError(.badArgument, name: "recordType", detail: "\(type)")
            }
            return ServiceFeed(try ServiceMonitor(serviceState.instance()).start()) { .record($0) }
        }
    }

    func invalidate() {
        operation?.invalidate()
        let former = client.withLock { $0.take() }
        withExtendedLifetime(former) {}  // released without the lock
    }

    private func take(_ event: Result<ServiceEvent, ServiceFailure>) {
        guard let object, let client = client.withLock({ $0 }) else { return }
        var error = event.streamError
        var data: Unmanaged<CFData>?
        if case .success(.record(let record)) = event { data = cfData(record.wireForm) }
        client.callback(object, service, .TXT, data?.takeUnretainedValue(), &error, client.info.pointer)
        data?.release()
    }
}

/// The state of a CFNetServiceBrowser.
final class NetServiceBrowserState: ObjectState, @unchecked Sendable {
    // The lock protects the client. The object is set once, before the program has it.
    static let typeID = cfn_class_register("CFNetServiceBrowser")

    private struct Client: Sendable {
        let callback: CFNetServiceBrowserClientCallBack
        let info: ClientInfo
    }

    private let client: Locked<Client?>
    private weak var object: CFNetServiceBrowser?
    /// Nil only while the state is initialized.
    private(set) var operation: ServiceOperation?

    private init(_ callback: @escaping CFNetServiceBrowserClientCallBack, _ info: ClientInfo) {
        client = Locked(Client(callback: callback, info: info))
        super.init()
        operation = ServiceOperation { [weak self] in self?.take($0) }
    }

    /// Creates a CFNetServiceBrowser.
    static func makeBrowser(
        _ allocator: CFAllocator?, _ callback: @escaping CFNetServiceBrowserClientCallBack, _ info: ClientInfo
    ) -> Unmanaged<CFNetServiceBrowser>? {
        let state = NetServiceBrowserState(callback, info)
        let object: Unmanaged<CFNetServiceBrowser>? = state.makeObject(allocator, typeID)
        state.object = object?.takeUnretainedValue()
        return object
    }

    override var summary: String { (operation?.isRunning ?? false) ? "searching" : "idle" }

    func searchForServices(domain: String, type: String) throws(ServiceFailure) {
        guard let operation else { return }
        try operation.run { () throws(ServiceDiscoveryError) in
            let browser = ServiceBrowser(
                try ServiceType(type), domain: domain.isEmpty ? nil : try ServiceDomain(domain))
            return ServiceFeed(try browser.start()) { .service($0) }
        }
    }

    func searchForDomains(registration: Bool) throws(ServiceFailure) {
        guard let operation else { return }
        try operation.run { () throws(ServiceDiscoveryError) in
            ServiceFeed(try ServiceDomainBrowser(registration ? .registration : .browsing).start()) { .domain($0) }
        }
    }

    func invalidate() {
        operation?.invalidate()
        let former = client.withLock { $0.take() }
        withExtendedLifetime(former) {}  // released without the lock
    }

    private func take(_ event: Result<ServiceEvent, ServiceFailure>) {
        guard let object, let client = client.withLock({ $0 }) else { return }
        var (error, flags, value) = (event.streamError, CFOptionFlags(0), nil as AnyObject?)
        switch event {
        case .success(.service(let change)):
            flags = Self.flags(change.kind, change.moreComing)
            value = NetServiceState.makeService(change.value)?.takeRetainedValue()
        case .success(.domain(let change)):
            flags = Self.flags(change.kind, change.moreComing) | CFNetServiceBrowserFlags.isDomain.rawValue
            if change.value.isLocal { flags |= CFNetServiceBrowserFlags.isDefault.rawValue }
            value = cfString(change.value.description).takeRetainedValue()
        case .success, .failure: break
        }
        withExtendedLifetime(value) { client.callback(object, flags, value, &error, client.info.pointer) }
    }

    private static func flags<Value>(_ kind: DiscoveryChange<Value>.Kind, _ moreComing: Bool) -> CFOptionFlags {
        let more = moreComing ? CFNetServiceBrowserFlags.moreComing.rawValue : 0
        return kind == .removed ? more | CFNetServiceBrowserFlags.remove.rawValue : more
    }
}
