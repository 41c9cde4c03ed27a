internal import EventLoops
internal import HostResolver

/// Properties and scheduling, shared by both halves.
extension Connection {
    /// The value of a property: the transport's, otherwise the kernel's, otherwise the one that was set. Not generic,
    /// so that it is compiled once.
    func value(named name: String) -> (any Sendable)? {
        let transport = details.withLock { $0.transport ?? ($0.opening == nil ? engine?.transport : nil) }
        if let value = transport?.property(named: name) { return value }
        if name == StreamProperty<ConnectionReport>.report.name { return details.withLock { $0.recorder.report } }
        if point.descriptor >= 0, let value = point.whileOpen({ socketProperty(named: name) }) ?? nil { return value }
        return details.withLock { $0.properties.value(named: name) } ?? endpointProperty(named: name)
    }

    /// The descriptor, or that of the connection to a proxy below; nil if there is none.
    var nativeDescriptor: Int32? {
        if point.descriptor >= 0 { return point.descriptor }
        return value(named: StreamProperty<Int32>.nativeDescriptor.name) as? Int32
    }

    var report: ConnectionReport {
        value(named: StreamProperty<ConnectionReport>.report.name) as? ConnectionReport ?? ConnectionReport()
    }

    /// Sets a property. Only properties with access `always` can be set once the stream has been opened.
    ///
    /// - Throws: if neither the kind nor the transport honours the property. The value is kept if the key is the
    ///   caller's own.
    func setValue(_ value: (any Sendable)?, for key: StreamPropertyKey) throws(StreamError) {
        if key.isReadOnly { throw .readOnly(key.name) }
        let (transport, isClosed) = details.withLock { details in
            (details.transport ?? engine?.transport, details.isReaderClosed && details.isWriterClosed)
        }
        if isClosed { throw .closed }
        guard key.isAlways || (isUnopened(.reader) && isUnopened(.writer)) else {
            throw isKept(key)
                ? .refused(key.name, "the stream has already been opened; set it before open().")
                : .notHonoured(key.name, by: kind)
        }
        let isTransports =
            try point.whileOpen { () throws(StreamError) in
                try transport?.setProperty(value, named: key.name)
            } ?? nil
        if isTransports != true {
            guard isKept(key) else { throw .notHonoured(key.name, by: kind) }
            details.withLock { $0.properties.set(value, for: key) }
        }
        guard key.isAlways else { return }
        switch key.name {
        case StreamProperty<Duration>.readLimit.name: setLimit(value as? Duration, .reader)
        case StreamProperty<Duration>.writeLimit.name: setLimit(value as? Duration, .writer)
        case StreamProperty<Bool>.closesDescriptor.name: point.setOwnership(value as? Bool)
        default: break
        }
    }

    /// Whether the stream honours the property itself, or keeps the value for the caller.
    private func isKept(_ key: StreamPropertyKey) -> Bool {
        key.isNote || kind.properties.honours(key.name)
    }

    private func isUnopened(_ half: StreamHalf) -> Bool {
        let status = settledStatus(half)
        return status == .notOpen || status == .closed
    }

    /// A property of the endpoint that the connection was made with.
    private func endpointProperty(named name: String) -> (any Sendable)? {
        switch name {
        case StreamProperty<String>.remoteHostName.name: endpoint?.name
        case StreamProperty<UInt16>.remotePort.name: endpoint?.port
        default: nil
        }
    }

    /// A property that the kernel knows, read from the connection's descriptor.
    private func socketProperty(named name: String) -> (any Sendable)? {
        guard point.descriptor >= 0 else { return nil }
        switch name {
        case StreamProperty<Int32>.nativeDescriptor.name: return point.descriptor
        case StreamProperty<Bool>.closesDescriptor.name: return point.ownership == .owned
        case StreamProperty<Bool>.isExpensive.name: return Syscalls.isConnected(point.descriptor) ? false : nil
        case StreamProperty<SocketAddress>.remoteAddress.name: return Syscalls.peerAddress(point.descriptor)
        case StreamProperty<SocketAddress>.localAddress.name: return Syscalls.localAddress(point.descriptor)
        case StreamProperty<UInt16>.remotePort.name: return Syscalls.peerAddress(point.descriptor)?.port
        default: return nil
        }
    }

    // MARK: Clients

    func setClient<Stream: AnyObject & Sendable>(
        _ half: StreamHalf, wanted: StreamEvents, stream: Stream,
        _ client: (@Sendable (Stream, StreamEvent) -> Void)?
    ) {
        let targets = details.withLock { $0.clients?[half].targets ?? [] }
        guard let client, !wanted.isEmpty else { return setClient(nil, half) }
        let new = StreamClient(self, half: half, wanted: wanted) { [weak stream] event in
            if let stream { client(stream, event) }
        }
        setClient(new, half)
        new.schedule(on: targets)
        if status(half) != .notOpen { new.keepAlive(stream) }
    }

    func schedule<Stream: AnyObject & Sendable>(_ half: StreamHalf, on target: any DeliveryTarget, stream: Stream) {
        if point.isClosed(half) { return }
        let isNew = details.withLock { details -> Bool in
            let clients = details.ensureClients()
            if clients[half].targets.contains(where: { $0.isSame(as: target) }) { return false }
            clients[half].targets.append(target)
            return true
        }
        guard isNew, let client = client(half) else { return }
        client.schedule(on: [target])
        if status(half) != .notOpen { client.keepAlive(stream) }
    }

    func unschedule(_ half: StreamHalf, from target: any DeliveryTarget) {
        details.withLock { $0.clients?[half].targets.removeAll { $0.isSame(as: target) } }
        guard let client = client(half) else { return }
        client.unschedule(from: target)
        withdrawWatch(half)
    }
}

extension StreamError {
    static func refused(_ property: String, _ rule: String) -> StreamError {
        StreamError(posix: 22, .propertyRefused(property, rule))  // EINVAL
    }
}
