internal import EventLoops

/// A kind of stream, which determines the properties that the stream honours.
///
/// Setting a property throws an error that names the property and the kind, unless the kind's table contains the
/// property or it is a key of the caller's own. The page "Which stream honours which
/// property" of NetKit shows the tables of all kinds.
///
/// A ``StreamTransport`` that handles its properties in ``StreamTransport/setProperty(_:named:)`` needs no kind. One
/// that relies on a table, as those of HTTP and FTP do, returns its own kind from ``StreamTransport/kind``.
public struct StreamKind: Sendable {
    /// The name of the kind, for messages: `a file being read`.
    public let name: String

    /// The properties that streams of this kind honour.
    @_spi(Packages) public let properties: StreamPropertyTable

    /// Makes a kind.
    ///
    /// - Parameters:
    ///   - name: the name with its article, as it appears in the middle of a sentence.
    ///   - properties: the properties that the streams honour.
    @_spi(Packages) public init(_ name: String, _ properties: StreamPropertyTable) {
        self.name = name
        self.properties = properties
    }

    /// True if streams of this kind honour the property, so that it can be set.
    public func honours<Value>(_ property: StreamProperty<Value>) -> Bool { properties.honours(property.name) }

    /// The error of setting the property; nil if it can be set.
    public func refusal<Value>(of property: StreamProperty<Value>) -> StreamError? {
        refusal(of: property.key)
    }

    private func refusal(of key: StreamPropertyKey) -> StreamError? {
        if key.isReadOnly { return .readOnly(key.name) }
        return key.isNote || properties.honours(key.name) ? nil : .notHonoured(key.name, by: self)
    }

    /// The error of the first property that cannot be set; nil if all can.
    package func refusal(of settings: StreamProperties) -> StreamError? {
        var refusal: StreamError?
        settings.forEach { key, _ in
            refusal = refusal ?? self.refusal(of: key)
        }
        return refusal
    }
}

extension StreamError {
    package static func refused(_ property: String, _ rule: String) -> StreamError {
        StreamError(posix: 22, .propertyRefused(property, rule))  // EINVAL
    }

    package static func readOnly(_ name: String) -> StreamError {
        .refused(name, "it is read-only.")
    }

    package static func notHonoured(_ name: String, by kind: StreamKind) -> StreamError {
        StreamError(posix: 22, .propertyNotHonoured(name, kind.name))  // EINVAL
    }
}
