@_spi(Packages) internal import EventLoops
internal import Glibc
@_spi(Packages) internal import StreamCore

extension Connection {
    /// The value of a property; nil if it has none, or none yet.
    func value(named name: String) -> (any Sendable)? { ConnectionProperties(connection: self).value(named: name) }

    /// Sets a property.
    func setValue(_ value: (any Sendable)?, for key: StreamPropertyKey) throws(StreamError) {
        try ConnectionProperties(connection: self).setValue(value, for: key)
    }

    /// The descriptor, or that of the connection to a proxy below; nil if there is none.
    var nativeDescriptor: Int32? {
        if point.descriptor >= 0 { return point.descriptor }
        return value(named: StreamProperty<Int32>.nativeDescriptor.name) as? Int32
    }

    var report: ConnectionReport {
        value(named: StreamProperty<ConnectionReport>.report.name) as? ConnectionReport ?? ConnectionReport()
    }
}

/// The properties of a connection, shared by both halves.
private struct ConnectionProperties {
    let connection: Connection

    /// The value of a property: the transport's, otherwise the kernel's, otherwise the one that was set. Not generic,
    /// so that it is compiled once.
    func value(named name: String) -> (any Sendable)? {
        let transport = connection.transport
        // A bare transport remains one, so the lock is not needed.
        let isBare = connection.hasBareTransport
        if isBare, let value = transport?.property(named: name) { return value }
        // The engine is copied only if it is used.
        let (secured, layers) = connection.withDetails {
            ($0.securedTransport, transport == nil && $0.openingPoint?.opening == nil ? connection.engine : nil)
        }
        if let secured {
            if let value = secured.property(named: name) { return value }
        } else if let transport {
            if !isBare, let value = transport.property(named: name) { return value }
        } else if let value = layers?.property(named: name) {
            return value
        }
        if name == StreamProperty<ConnectionReport>.report.name { return connection.withDetails { $0.report } }
        let point = connection.point
        if point.descriptor >= 0, let value = point.whileOpen({ socketProperty(named: name) }) ?? nil { return value }
        return connection.withDetails { $0.properties.value(named: name) } ?? endpointProperty(named: name)
    }

    /// Sets a property. Only properties with access `always` can be set once the stream has been opened.
    ///
    /// - Throws: if neither the kind nor the transport honours the property. The value is kept if the key is the
    ///   caller's own.
    func setValue(_ value: (any Sendable)?, for key: StreamPropertyKey) throws(StreamError) {
        if key.isReadOnly { throw .readOnly(key.name) }
        let isTransports: Bool
        // Before opening, no descriptor of this connection is in use. Not `let transport`, which would count a reference.
        if connection.isUnopened,
            let isSet = try connection.transport?.setProperty(value, named: key.name)
        {
            isTransports = isSet
        } else {
            isTransports = try setWhileOpen(value, for: key)
        }
        if !isTransports {
            guard isKept(key) else { throw .notHonoured(key.name, by: connection.streamKind) }
            connection.withDetails { $0.properties.set(value, for: key) }
        }
        guard key.isAlways else { return }
        switch key.name {
        case StreamProperty<Duration>.readTimeout.name: connection.setLimit(value as? Duration, .reader)
        case StreamProperty<Duration>.writeTimeout.name: connection.setLimit(value as? Duration, .writer)
        case StreamProperty<Bool>.closesDescriptor.name: connection.point.setOwnership(value as? Bool)
        default: break
        }
    }

    /// Sets a property of the open transport. Returns false if it has none by that name.
    private func setWhileOpen(
        _ value: (any Sendable)?, for key: StreamPropertyKey
    ) throws(StreamError) -> Bool {
        let transport = connection.transport
        let (secured, layers, isClosed) = connection.withDetails { details in
            (details.securedTransport, transport == nil ? connection.engine : nil, connection.isClosed)
        }
        if isClosed { throw .closed }
        guard key.isAlways || connection.isUnopened else {
            throw isKept(key)
                ? .refused(key.name, "the stream has already been opened; set it before open().")
                : .notHonoured(key.name, by: connection.streamKind)
        }
        return try connection.point.whileOpen { () throws(StreamError) -> Bool in
            if let secured { return try secured.setProperty(value, named: key.name) }
            if let transport { return try transport.setProperty(value, named: key.name) }
            return try layers?.setProperty(value, named: key.name) ?? false
        } ?? false
    }

    /// Whether the stream honours the property itself, or keeps the value for the caller.
    private func isKept(_ key: StreamPropertyKey) -> Bool {
        key.isNote || connection.streamKind.properties.honours(key.name)
    }

    /// A property of the endpoint that the connection was made with.
    private func endpointProperty(named name: String) -> (any Sendable)? {
        switch name {
        case StreamProperty<String>.remoteHostName.name: connection.endpoint?.name
        case StreamProperty<UInt16>.remotePort.name: connection.endpoint?.port
        default: nil
        }
    }

    /// A property that the kernel knows, read from the connection's descriptor.
    private func socketProperty(named name: String) -> (any Sendable)? {
        let point = connection.point
        guard point.descriptor >= 0 else { return nil }
        switch name {
        case StreamProperty<Int32>.nativeDescriptor.name: return point.descriptor
        case StreamProperty<Bool>.closesDescriptor.name: return point.ownership == .owned
        case StreamProperty<SocketAddress>.remoteAddress.name: return Syscalls.peerAddress(point.descriptor)
        case StreamProperty<SocketAddress>.localAddress.name: return Syscalls.localAddress(point.descriptor)
        case StreamProperty<UInt16>.remotePort.name: return Syscalls.peerAddress(point.descriptor)?.port
        default: return nil
        }
    }
}
