internal import EventLoops
public import Foundation
internal import ServiceDiscovery

extension NetService {
    /// Resolves for five seconds.
    @available(*, deprecated, message: "use resolve(withTimeout:)")
    public func resolve() {
        resolve(withTimeout: 5)
    }

    /// Finds out where the service is, and goes on finding out until the time is over or ``stop()``. Returns at once; the
    /// delegate is told the rest.
    ///
    /// - Parameter timeout: in seconds; 0 for no limit.
    public func resolve(withTimeout timeout: TimeInterval) {
        do throws(ServiceDiscoveryError) {
            guard timeout >= 0 else {
                throw ServiceDiscoveryError(.badArgument, name: "timeout", detail: "\(timeout)")
            }
            let service = try instance()
            let number = try begin(.resolving, telling: .willResolve)
            let places: RunningFeed<ResolvedService>
            do throws(ServiceDiscoveryError) {
                let feed = try ServiceResolver(service, engine: engine).start()
                places = RunningFeed(feed) { [weak self] in self?.loops.ring() }
            } catch {
                end { state in
                    guard state.isUnderWay(number) else { return false }
                    state.outbox.append(.didNotResolve(error))
                    return true
                }
                return loops.ring()
            }
            let isWanted = state.withLock { state in
                // It may have been stopped meanwhile.
                guard state.isUnderWay(number) else { return false }
                (state.places, state.anchor, state.hasResolved) = (places, self, false)
                return true
            }
            if !isWanted { places.stop() } else if timeout > 0 { limit(places, to: timeout) }
            loops.ring()
        } catch {
            post(.didNotResolve(error))
        }
    }

    private func limit(_ places: RunningFeed<ResolvedService>, to timeout: TimeInterval) {
        let end = Moment.now + .milliseconds(Int64(min(timeout, 1e9) * 1000))
        let timer = EventLoop.shared.schedule(at: end) { [weak self] in self?.expire(places) }
        let isCurrent = state.withLock { state in
            guard state.places === places else { return false }
            state.timer = timer
            return true
        }
        if !isCurrent { timer.cancel() }
    }

    private func expire(_ places: RunningFeed<ResolvedService>) {
        end { state in
            guard state.places === places else { return false }
            state.outbox.append(
                state.hasResolved ? .didStop : .didNotResolve(ServiceDiscoveryError(.timedOut, name: state.name)))
            return true
        }
        loops.ring()
    }

    /// Ends publishing, which takes the service back, or resolving. The delegate is told; nothing happens if neither is under
    /// way.
    public func stop() {
        end { state in
            guard state.activity != .none else { return false }
            state.outbox.append(.didStop)
            return true
        }
        loops.ring()
    }

    /// What is resolved: the domain has to be one.
    func instance() throws(ServiceDiscoveryError) -> ServiceInstance {
        try ServiceInstance(name: name, type: ServiceType(type), domain: ServiceDomain(domain))
    }
}
