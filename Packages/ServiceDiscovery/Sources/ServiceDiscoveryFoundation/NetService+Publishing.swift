public import Foundation
internal import ServiceDiscovery

extension NetService {
    /// Publishes the service, under another name if its own is taken.
    public func publish() {
        publish(options: [])
    }

    /// Publishes the service until ``stop()``. Returns at once; the delegate is told the rest.
    public func publish(options: Options) {
        do throws(ServiceDiscoveryError) {
            let number = try begin(.publishing)
            do throws(ServiceDiscoveryError) {
                try startPublishing(options, number)
            } catch {
                end { state in
                    guard state.isUnderWay(number) else { return false }
                    state.outbox.append(.didNotPublish(error))
                    return true
                }
            }
            loops.ring()
        } catch {
            post(.didNotPublish(error))
        }
    }

    private func startPublishing(_ options: Options, _ number: Int) throws(ServiceDiscoveryError) {
        guard options.isSubset(of: [.noAutoRename, .listenForConnections]) else {
            throw ServiceDiscoveryError(.badArgument, name: "options", detail: "\(options.rawValue)")
        }
        let (name, wanted, record) = state.withLock { ($0.name, $0.port, $0.record) }
        guard let port = UInt16(exactly: wanted) else {
            throw ServiceDiscoveryError(.badArgument, name: "port", detail: "\(wanted)")
        }
        var advertisement = ServiceAdvertisement(
            name: name, type: try ServiceType(type), port: port, record: record ?? TXTRecord())
        if !domain.isEmpty { advertisement.domain = try ServiceDomain(domain) }
        advertisement.renamesOnConflict = !options.contains(.noAutoRename)
        if options.contains(.listenForConnections) {
            advertisement.port = try listen(advertisement, number)
        }
        let publisher = try ServicePublisher(advertisement, engine: engine)
        let names = RunningFeed(publisher.names) { [weak self] in self?.loops.ring() }
        var given = advertisement.record
        // Until the record that it was published with is the one that was set last.
        while true {
            let (isWanted, missing) = state.withLock { state -> (Bool, TXTRecord?) in
                // It may have been stopped meanwhile.
                guard state.isUnderWay(number) else { return (false, nil) }
                let record = state.record ?? TXTRecord()
                if record != given { return (true, record) }
                (state.publisher, state.names) = (publisher, names)
                state.outbox.append(.willPublish)
                return (true, nil)
            }
            guard isWanted else { return publisher.stop() }
            guard let missing else { return }
            try publisher.update(missing)
            given = missing
        }
    }

    private func listen(
        _ advertisement: ServiceAdvertisement, _ number: Int
    ) throws(ServiceDiscoveryError) -> UInt16 {
        guard advertisement.type.transport == .tcp else {
            throw ServiceDiscoveryError(.badArgument, name: type, detail: "only TCP has connections")
        }
        guard let connecting = Self.connecting else {
            throw ServiceDiscoveryError(
                .unsupported, name: type, detail: "NetKitFoundation is not linked", domain: .netServices,
                number: ErrorCode.missingRequiredConfigurationError.rawValue)
        }
        let listener = try connecting.listen(port: advertisement.port) { [weak self] connection in
            guard let self, self.take(connection) else { return }
            self.loops.ring()
        }
        let isWanted = state.withLock { state in
            guard state.isUnderWay(number) else { return false }
            (state.listener, state.port) = (listener, Int(listener.port))
            return true
        }
        if !isWanted { listener.close() }
        return listener.port
    }

    private func take(_ connection: @escaping @Sendable () -> (InputStream, OutputStream)) -> Bool {
        state.withLock { state in
            guard state.listener != nil, state.accepted.count < Self.mostAccepted else { return false }
            state.accepted.append(connection)
            return true
        }
    }

    /// Who has streams, if they are linked.
    static var connecting: (any NetServiceConnecting.Type)? {
        // Looked for by name when it runs: the compiler knows of no such conformance here.
        (NetService.self as Any) as? any NetServiceConnecting.Type
    }

    /// Gives the service another TXT record, which is announced at once if it is published; nil for an empty one.
    ///
    /// - Returns: false if the bytes are no well-formed record with each key once, if the engine refuses it, or while the service
    ///   is being resolved.
    public func setTXTRecord(_ recordData: Data?) -> Bool {
        let record = recordData.map { TXTRecord(wire: $0) } ?? TXTRecord()
        guard recordData.map({ Data(record.wireForm) == $0 }) ?? true else { return false }
        let old = state.withLock { state -> (publisher: ServicePublisher?, record: TXTRecord?)? in
            if state.activity == .resolving { return nil }
            // Publishing that is about to begin takes it from here.
            defer { state.record = record }
            return (state.publisher, state.record)
        }
        guard let old else { return false }
        do throws(ServiceDiscoveryError) {
            try old.publisher?.update(record)
        } catch {
            state.withLock { if $0.record == record { $0.record = old.record } }
            return false
        }
        return true
    }

    /// The TXT record that was set, or, after resolving or monitoring, the last that was heard; nil if none was.
    public func txtRecordData() -> Data? {
        state.withLock { $0.record }.map { Data($0.wireForm) }
    }
}
