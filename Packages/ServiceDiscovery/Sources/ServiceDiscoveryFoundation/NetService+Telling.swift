internal import EventLoops
internal import Foundation
internal import ServiceDiscovery

extension NetService {
    /// Tells the delegate one thing; on a run loop.
    func tell() -> RunLoopPlaces.Step {
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
        return .told
    }

    private func nextEvent() -> NetServiceEvent? {
        let (event, feeds) = state.withLock {
            state -> (
                NetServiceEvent?,
                (
                    names: RunningFeed<ServiceInstance>?, places: RunningFeed<ResolvedService>?,
                    records: RunningFeed<TXTRecord>?
                )
            ) in
            if !state.outbox.isEmpty { return (state.outbox.removeFirst(), (nil, nil, nil)) }
            if state.isVisible, !state.accepted.isEmpty {
                return (.didAccept(state.accepted.removeFirst()), (nil, nil, nil))
            }
            return (nil, (state.names, state.places, state.monitoring?.feed))
        }
        if let event { return event }
        return nextPublished(feeds.names) ?? nextResolved(feeds.places) ?? nextRecord(feeds.records)
    }

    /// What the publisher's feed has to tell; nil if there is nothing now. As ``nextRecord(_:)`` it takes all until then.
    private func nextPublished(_ names: RunningFeed<ServiceInstance>?) -> NetServiceEvent? {
        while let result = names?.next() {
            switch result {
            case .success(let instance):
                let isNews = state.withLock { state in
                    // A link that comes back makes the service visible again, under the name that is known.
                    guard state.names === names, !state.isVisible || state.name != instance.name else { return false }
                    (state.name, state.isVisible) = (instance.name, true)
                    return true
                }
                if isNews { return .didPublish }
            case .failure(let error):
                return end { $0.names === names } ? .didNotPublish(error) : nil
            }
        }
        return nil
    }

    private func nextResolved(_ places: RunningFeed<ResolvedService>?) -> NetServiceEvent? {
        while let result = places?.next() {
            switch result {
            case .success(let place):
                let addresses = place.addresses.map { address in
                    address.withSockAddr { pointer, length in Data(bytes: pointer, count: Int(length)) }
                }
                let isNews = state.withLock { state in
                    guard state.places === places else { return false }
                    (state.hostName, state.port, state.addresses) = (place.hostName, Int(place.port), addresses)
                    if !place.record.entries.isEmpty || place.isComplete { state.record = place.record }
                    state.hasResolved = true
                    return true
                }
                if isNews { return .didResolve }
            case .failure(let error):
                return end { $0.places === places } ? .didNotResolve(error) : nil
            }
        }
        return nil
    }
}
