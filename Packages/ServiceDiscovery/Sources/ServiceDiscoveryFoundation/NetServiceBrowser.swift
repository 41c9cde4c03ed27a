internal import EventLoops
public import Foundation
internal import RunLoopDelivery
public import ServiceDiscovery

/// Browses for services of one type, or for domains, and reports changes to its delegate.
///
/// ```swift
/// let browser = NetServiceBrowser()
/// browser.delegate = delegate
/// browser.searchForServices(ofType: "_http._tcp", inDomain: "")
/// ```
///
/// This is Foundation's class, which Linux lacks. A browser performs one search at a time; use several browsers for
/// several types. It is scheduled on the run loop of the thread that creates it. Its delegate is called there, and that
/// run loop must run. The search ends when the browser is released. Members may be called from any thread.
open class NetServiceBrowser: NSObject, @unchecked Sendable {
    // All mutable state is behind the lock.
    private struct State {
        weak var delegate: (any NetServiceBrowserDelegate)?
        var includesPeerToPeer = false
        var outbox: [Event] = []
        var search: Search?
    }

    private enum Search {
        case services(NotifyingFeed<DiscoveryChange<ServiceInstance>>)
        case types(NotifyingFeed<DiscoveryChange<ServiceType>>)
        case domains(NotifyingFeed<DiscoveryChange<ServiceDomain>>)

        /// The identity of the search.
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

    /// The type whose search finds types instead of services (RFC 6763 §9).
    static let enumeration = "_services._dns-sd._udp"

    private let engine: DiscoveryEngine
    private let state = Locked(State())
    private let pump = EventPump(isIdle: true, isReentrant: true)

    /// Creates a browser that does not search yet.
    public override convenience init() {
        self.init(engine: .automatic)
    }

    /// Creates a browser that uses the given engine.
    public init(engine: DiscoveryEngine) {
        self.engine = engine
        super.init()
        schedule(on: RunLoopTarget(RunLoop.current))
    }

    deinit { endSearch { _ in true } }

    /// The object that receives the events. Not retained.
    open weak var delegate: (any NetServiceBrowserDelegate)? {
        get { state.withLock { Reference($0.delegate) }.value }
        set {
            let new = Reference(newValue)
            state.withLock { $0.delegate = new.value }
        }
    }

    /// Stored without effect, because Linux has no peer-to-peer links.
    open var includesPeerToPeer: Bool {
        get { state.withLock { $0.includesPeerToPeer } }
        set { state.withLock { $0.includesPeerToPeer = newValue } }
    }

    /// Also calls the delegate on this run loop, in this mode.
    open func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        schedule(on: RunLoopTarget(aRunLoop, mode: mode))
    }

    /// Ends the delivery on this run loop in this mode. Without any run loop, events wait until the browser is
    /// scheduled again.
    open func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        pump.unschedule(from: RunLoopTarget(aRunLoop, mode: mode))
    }

    /// Browses for services until ``stop()``. Returns at once; results are reported to the delegate.
    ///
    /// - Parameters:
    ///   - type: such as `_http._tcp`, followed by a comma and a subtype to find only services of that subtype.
    ///     `_services._dns-sd._udp` finds types, each as an object whose name and type are its two labels.
    ///   - domainString: empty for the default domains: `local.`, and those that the name servers of the network list.
    open func searchForServices(ofType type: String, inDomain domainString: String) {
        search { engine, notify throws(ServiceDiscoveryError) in
            let domain = domainString.isEmpty ? nil : try ServiceDomain(domainString)
            let text = type.hasSuffix(".") ? String(type.dropLast()) : type
            if text.lowercased() == Self.enumeration {
                return .types(
                    NotifyingFeed(try ServiceTypeBrowser(domain: domain, engine: engine).start(), notify: notify))
            }
            let browser = ServiceBrowser(try ServiceType(type), domain: domain, engine: engine)
            return .services(NotifyingFeed(try browser.start(), notify: notify))
        }
    }

    /// Finds the domains in which services can be browsed, until ``stop()``.
    open func searchForBrowsableDomains() {
        searchForDomains(.browsing)
    }

    /// Finds the domains in which services can be published, until ``stop()``.
    open func searchForRegistrationDomains() {
        searchForDomains(.registration)
    }

    /// Ends the search. The delegate is notified. Has no effect if there is no search. The browser can search again.
    open func stop() {
        endSearch { state in
            guard state.search != nil else { return false }
            state.outbox.append(.didStop)
            return true
        }
        pump.signal()
    }
}

// MARK: - Searching

extension NetServiceBrowser {
    private func searchForDomains(_ purpose: ServiceDomainBrowser.Purpose) {
        search { engine, notify throws(ServiceDiscoveryError) in
            .domains(NotifyingFeed(try ServiceDomainBrowser(purpose, engine: engine).start(), notify: notify))
        }
    }

    private func search(
        _ start: (DiscoveryEngine, @escaping @Sendable () -> Void) throws(ServiceDiscoveryError) -> Search
    ) {
        do throws(ServiceDiscoveryError) {
            if state.withLock({ $0.search != nil }) { throw ServiceDiscoveryError(.busy) }
            let new = try start(engine) { [weak self] in self?.pump.signal() }
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
        pump.signal()
    }

    /// Ends the search if `condition` is true. The condition is evaluated with the lock held and may add events to the
    /// outbox, so a search that has begun in the meantime is not ended. Returns whether the search was ended.
    @discardableResult
    private func endSearch(if condition: @Sendable (inout State) -> Bool) -> Bool {
        let (search, isEnded) = state.withLock { state -> (Search?, Bool) in
            condition(&state) ? (state.search.take(), true) : (nil, false)
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

// MARK: - Delivering

extension NetServiceBrowser {
    private func schedule(on target: RunLoopTarget) {
        pump.schedule(on: target) { [weak self] in
            guard let self else { return }
            pump.deliver(on: target) { self.deliverNext() }
        }
    }

    /// Delivers one event to the delegate. Called on a run loop.
    private func deliverNext() -> EventPump.Step {
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
        return .delivered
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
        _ feed: NotifyingFeed<DiscoveryChange<Thing>>,
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

/// Receives the events of a ``NetServiceBrowser``, on the run loops on which it is scheduled. All methods are optional.
public protocol NetServiceBrowserDelegate: AnyObject {
    /// The search begins.
    func netServiceBrowserWillSearch(_ browser: NetServiceBrowser)
    /// The search was ended by ``NetServiceBrowser/stop()``.
    func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser)
    /// The search could not begin, or has failed; the number under ``NetService/errorCode`` is the reason.
    func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber])
    /// A domain was found; its name ends with a dot. While `moreComing` is true, the next call follows at once; a
    /// program can delay drawing until then.
    func netServiceBrowser(
        _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool)
    /// A service was found, with its name, type and domain. Retain it, and resolve it when it is needed. While
    /// `moreComing` is true, the next call follows at once.
    func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool)
    /// A domain was removed.
    func netServiceBrowser(
        _ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool)
    /// A service was removed: an object equal to the one that was found.
    func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool)
}

extension NetServiceBrowserDelegate {
    /// Does nothing.
    public func netServiceBrowserWillSearch(_ browser: NetServiceBrowser) {}
    /// Does nothing.
    public func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser) {}
    /// Does nothing.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]) {}
    /// Does nothing.
    public func netServiceBrowser(
        _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool
    ) {}
    /// Does nothing.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {}
    /// Does nothing.
    public func netServiceBrowser(
        _ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool
    ) {}
    /// Does nothing.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {}
}
