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
            try begin(.publishing)
            do throws(ServiceDiscoveryError) {
                try startPublishing(options)
            } catch {
                state.withLock { $0.activity = .none }
                throw error
            }
        } catch {
            post(.didNotPublish(error))
        }
    }

    private func startPublishing(_ options: Options) throws(ServiceDiscoveryError) {
        guard options.isSubset(of: [.noAutoRename, .listenForConnections]) else {
            throw ServiceDiscoveryError(.badArgument, name: "options", detail: "\(options.rawValue)")
        }
        let (name, number, record) = state.withLock { ($0.name, $0.port, $0.record) }
        guard let port = UInt16(exactly: number) else {
            throw ServiceDiscoveryError(.badArgument, name: "port", detail: "\(number)")
        }
        var advertisement = ServiceAdvertisement(
            name: name, type: try ServiceType(type), port: port, record: record ?? TXTRecord())
        if !domain.isEmpty { advertisement.domain = try ServiceDomain(domain) }
        advertisement.renamesOnConflict = !options.contains(.noAutoRename)
        if options.contains(.listenForConnections) {
            advertisement.port = try listen(advertisement)
        }
        let publisher: ServicePublisher
        do throws(ServiceDiscoveryError) {
            publisher = try ServicePublisher(advertisement, engine: engine)
        } catch {
            state.withLock { $0.listener.take() }?.close()
            throw error
        }
        post(.willPublish)
        let names = RunningFeed(publisher.names) { [weak self] in self?.loops.ring() }
        let isWanted = state.withLock { state in
            // Somebody may have stopped it meanwhile.
            guard state.activity == .publishing else { return false }
            (state.publisher, state.names) = (publisher, names)
            return true
        }
        if !isWanted { publisher.stop() }
        loops.ring()
    }

    private func listen(_ advertisement: ServiceAdvertisement) throws(ServiceDiscoveryError) -> UInt16 {
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
        state.withLock { state in (state.listener, state.port) = (listener, Int(listener.port)) }
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
        let (publisher, isResolving) = state.withLock { ($0.publisher, $0.activity == .resolving) }
        if isResolving { return false }
        do throws(ServiceDiscoveryError) {
            try publisher?.update(record)
        } catch {
            return false
        }
        state.withLock { $0.record = record }
        return true
    }

    /// The TXT record that was set, or, after resolving or monitoring, the last that was heard; nil if none was.
    public func txtRecordData() -> Data? {
        state.withLock { $0.record }.map { Data($0.wireForm) }
    }
}
