internal import EventLoops
public import Foundation
internal import RunLoopDelivery
public import ServiceDiscovery

/// Looks for services of one type, or for domains, and tells its delegate what comes and goes.
///
/// ```swift
/// let browser = NetServiceBrowser()
/// browser.delegate = self
/// browser.searchForServices(ofType: "_http._tcp", inDomain: "")
/// ```
///
/// Foundation's class of that name, which Linux lacks. One search at a time; more types take more browsers. A browser is
/// scheduled on the run loop of the thread that makes it; the delegate is called there, and that loop has to run. The search
/// ends with the browser. Members may be called from any thread.
open class NetServiceBrowser: NSObject, @unchecked Sendable {
    // Everything that changes is behind the lock.
    private struct State {
        weak var delegate: (any NetServiceBrowserDelegate)?
        var includesPeerToPeer = false
        var outbox: [Event] = []
        var search: Search?
    }

    private enum Search {
        case services(RunningFeed<DiscoveryChange<ServiceInstance>>)
        case types(RunningFeed<DiscoveryChange<ServiceType>>)
        case domains(RunningFeed<DiscoveryChange<ServiceDomain>>)

        /// What tells one search from another.
        var feed: AnyObject {
            switch self {
            case .services(let feed): feed
            case .types(let feed): feed
            case .domains(let feed): feed
            }
        }
    }

    private enum Event {
        case willSearch
        case didNotSearch(ServiceDiscoveryError)
        case didStop
        case service(NetService, isFound: Bool, moreComing: Bool)
        case domain(String, isFound: Bool, moreComing: Bool)
    }

    /// What to look for to find types rather than services (RFC 6763 §9).
    static let enumeration = "_services._dns-sd._udp"

    private let engine: DiscoveryEngine
    private let state = Locked(State())
    private let loops = RunLoopPlaces()

    /// A browser that searches for nothing yet.
    public override convenience init() {
        self.init(engine: .automatic)
    }

    /// The same with another engine than the one that is taken by default.
    public init(engine: DiscoveryEngine) {
        self.engine = engine
        super.init()
        loops.onDelivery { [weak self] in self?.tell() ?? .idle }
        loops.add(RunLoopTarget(RunLoop.current))
    }

    deinit { endSearch { _ in true } }

    /// Told what is found. Not kept alive.
    open weak var delegate: (any NetServiceBrowserDelegate)? {
        get { state.withLock { Reference($0.delegate) }.value }
        set {
            let new = Reference(newValue)
            state.withLock { $0.delegate = new.value }
        }
    }

    /// Stored, and without effect: there are no peer-to-peer links here.
    open var includesPeerToPeer: Bool {
        get { state.withLock { $0.includesPeerToPeer } }
        set { state.withLock { $0.includesPeerToPeer = newValue } }
    }

    /// Has the delegate called on this run loop, too, in this mode.
    open func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        loops.add(RunLoopTarget(aRunLoop, mode: mode))
    }

    /// Ends that. A browser that is scheduled nowhere tells nothing, until it is scheduled again.
    open func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        loops.remove(RunLoopTarget(aRunLoop, mode: mode))
    }

    /// Looks for services until ``stop()``. Returns at once; the delegate is told the rest.
    ///
    /// - Parameters:
    ///   - type: such as `_http._tcp`, with one subtype behind a comma if only that is wanted. `_services._dns-sd._udp` finds
    ///     types, each as an object whose name and type are its two halves.
    ///   - domainString: empty for the default ones: `local.`, and those that the network's name servers list.
    open func searchForServices(ofType type: String, inDomain domainString: String) {
        search { engine, ring throws(ServiceDiscoveryError) in
            let domain = domainString.isEmpty ? nil : try ServiceDomain(domainString)
            let text = type.hasSuffix(".") ? String(type.dropLast()) : type
            if text.lowercased() == Self.enumeration {
                return .types(RunningFeed(try ServiceTypeBrowser(domain: domain, engine: engine).start(), ring: ring))
            }
            let browser = ServiceBrowser(try ServiceType(type), domain: domain, engine: engine)
            return .services(RunningFeed(try browser.start(), ring: ring))
        }
    }

    /// Looks for the domains in which services can be looked for, until ``stop()``.
    open func searchForBrowsableDomains() {
        searchForDomains(.browsing)
    }

    /// Looks for the domains in which services can be published, until ``stop()``.
    open func searchForRegistrationDomains() {
        searchForDomains(.registration)
    }

    /// Ends the search. The delegate is told; nothing happens if there is none. The browser can search again.
    open func stop() {
        endSearch { state in
            guard state.search != nil else { return false }
            state.outbox.append(.didStop)
            return true
        }
        loops.ring()
    }
}

// MARK: - Searching

extension NetServiceBrowser {
    private func searchForDomains(_ purpose: ServiceDomainBrowser.Purpose) {
        search { engine, ring throws(ServiceDiscoveryError) in
            .domains(RunningFeed(try ServiceDomainBrowser(purpose, engine: engine).start(), ring: ring))
        }
    }

    private func search(
        _ start: (DiscoveryEngine, @escaping @Sendable () -> Void) throws(ServiceDiscoveryError) -> Search
    ) {
        do throws(ServiceDiscoveryError) {
            if state.withLock({ $0.search != nil }) { throw ServiceDiscoveryError(.busy) }
            let new = try start(engine) { [weak self] in self?.loops.ring() }
            let isFirst = state.withLock { state in
                guard state.search == nil else { return false }
                state.search = new
                state.outbox.append(.willSearch)
                return true
            }
            if !isFirst { throw ServiceDiscoveryError(.busy) }
        } catch {
            state.withLock { $0.outbox.append(.didNotSearch(error)) }
        }
        loops.ring()
    }

    /// Ends the search if `isMeant` says so, which is asked under the same lock and may add to the outbox: a search that has
    /// begun meanwhile is not ended. True if it was.
    @discardableResult
    private func endSearch(if isMeant: @Sendable (inout State) -> Bool) -> Bool {
        let (search, isEnded) = state.withLock { state -> (Search?, Bool) in
            isMeant(&state) ? (state.search.take(), true) : (nil, false)
        }
        switch search {
        case .services(let feed)?: feed.stop()
        case .types(let feed)?: feed.stop()
        case .domains(let feed)?: feed.stop()
        case nil: break
        }
        return isEnded
    }
}

// MARK: - Telling

extension NetServiceBrowser {
    /// Tells the delegate one thing; on a run loop.
    private func tell() -> RunLoopPlaces.Step {
        guard let event = nextEvent() else {
            return state.withLock { $0.search == nil && $0.outbox.isEmpty } ? .idle : .nothing
        }
        let delegate = delegate
        switch event {
        case .willSearch: delegate?.netServiceBrowserWillSearch(self)
        case .didNotSearch(let error):
            delegate?.netServiceBrowser(self, didNotSearch: NetService.dictionary(of: error))
        case .didStop: delegate?.netServiceBrowserDidStopSearch(self)
        case .service(let service, true, let moreComing):
            delegate?.netServiceBrowser(self, didFind: service, moreComing: moreComing)
        case .service(let service, false, let moreComing):
            delegate?.netServiceBrowser(self, didRemove: service, moreComing: moreComing)
        case .domain(let domain, true, let moreComing):
            delegate?.netServiceBrowser(self, didFindDomain: domain, moreComing: moreComing)
        case .domain(let domain, false, let moreComing):
            delegate?.netServiceBrowser(self, didRemoveDomain: domain, moreComing: moreComing)
        }
        return .told
    }

    private func nextEvent() -> Event? {
        let (event, search) = state.withLock { state -> (Event?, Search?) in
            state.outbox.isEmpty ? (nil, state.search) : (state.outbox.removeFirst(), nil)
        }
        if let event { return event }
        switch search {
        case .services(let feed)?:
            return next(feed) { change in
                let service = change.value
                return (service.name, "\(service.type).", "\(service.domain)")
            }
        case .types(let feed)?:
            return next(feed) { change in
                (change.value.application, "\(change.value.transport.rawValue).", "\(ServiceDomain.local)")
            }
        case .domains(let feed)?:
            switch feed.next() {
            case .success(let change)?:
                return .domain(
                    "\(change.value)", isFound: change.kind == .found, moreComing: change.moreComing)
            case .failure(let error)?: return failed(feed, error)
            case nil: return nil
            }
        case nil: return nil
        }
    }

    private func next<Thing>(
        _ feed: RunningFeed<DiscoveryChange<Thing>>,
        _ parts: (DiscoveryChange<Thing>) -> (name: String, type: String, domain: String)
    ) -> Event? {
        switch feed.next() {
        case .success(let change)?:
            let (name, type, domain) = parts(change)
            let service = NetService(domain: domain, type: type, name: name, engine: engine)
            return .service(service, isFound: change.kind == .found, moreComing: change.moreComing)
        case .failure(let error)?: return failed(feed, error)
        case nil: return nil
        }
    }

    private func failed(_ feed: AnyObject, _ error: ServiceDiscoveryError) -> Event? {
        let failed = ObjectIdentifier(feed)
        return endSearch { $0.search.map { ObjectIdentifier($0.feed) } == failed } ? .didNotSearch(error) : nil
    }
}
