public import Foundation
public import ServiceDiscovery

extension NetService {
    /// Publishes the service; renames it if its name is taken.
    public func publish() {
        publish(options: [])
    }

    /// Publishes the service until ``stop()``. Returns at once; the result is reported to the delegate.
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
            pump.signal()
        } catch {
            post(.didNotPublish(error))
        }
    }

    private func startPublishing(_ options: Options, _ number: Int) throws(ServiceDiscoveryError) {
        guard options.isSubset(of: [.noAutoRename, .listenForConnections]) else {
            throw ServiceDiscoveryError(.badArgument, name: "options", detail: "\(options.rawValue)")
        }
        let (name, domain, wanted, record) = state.withLock { ($0.name, $0.domain, $0.port, $0.record) }
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
        let names = NotifyingFeed(publisher.names) { [weak self] in self?.pump.signal() }
        var given = advertisement.record
        // Repeats until the publisher has the record that was set last.
        while true {
            let (isWanted, missing) = state.withLock { state -> (Bool, TXTRecord?) in
                // The service may have been stopped in the meantime.
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
            self.pump.signal()
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
            guard state.listener != nil, state.accepted.count < Self.maximumAccepted else { return false }
            state.accepted.append(connection)
            return true
        }
    }

    /// The implementation of streams, if NetKitFoundation is linked.
    static var connecting: (any NetServiceConnecting.Type)? {
        // Determined at run time, because the conformance is in another module.
        (NetService.self as Any) as? any NetServiceConnecting.Type
    }

    /// Sets the TXT record, and announces it if the service is published; nil for an empty record.
    ///
    /// - Returns: false if the data is malformed or has a duplicate key, if the engine rejects it, or while the service
    ///   is being resolved.
    @discardableResult
    public func setTXTRecord(_ recordData: Data?) -> Bool {
        let record = recordData.map { TXTRecord(wire: $0) } ?? TXTRecord()
        guard recordData.map({ Data(record.wireForm) == $0 }) ?? true else { return false }
        let old = state.withLock { state -> (publisher: ServicePublisher?, record: TXTRecord?)? in
            if state.activity == .resolving { return nil }
            // If publishing is about to begin, it uses this record.
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

    /// The TXT record that was set, or the last one received by resolving or monitoring; nil if there is none.
    public func txtRecordData() -> Data? {
        state.withLock { $0.record }.map { Data($0.wireForm) }
    }
}

/// Provides streams for ``NetService``. NetKitFoundation makes ``NetService`` conform, which is detected at run time.
/// Programs do not implement this protocol.
public protocol NetServiceConnecting {
    /// Listens for TCP connections over IPv4 and IPv6.
    ///
    /// - Parameters:
    ///   - port: the port; 0 for a free one.
    ///   - accepted: receives each connection, on any thread, as a closure that creates its two unopened streams.
    ///     Releasing the closure refuses the connection.
    static func listen(
        port: UInt16, accepted: @escaping @Sendable (@escaping @Sendable () -> (InputStream, OutputStream)) -> Void
    ) throws(ServiceDiscoveryError) -> any NetServiceListener
}

/// A listening socket.
public protocol NetServiceListener: AnyObject, Sendable {
    /// The port on which it listens.
    var port: UInt16 { get }
    /// Stops listening. Idempotent.
    func close()
}
