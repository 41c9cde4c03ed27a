#if HTTPTypes
public import HTTPTypes

extension HTTPTypes.HTTPFields {
    /// Converts fields to the types of apple/swift-http-types. Order, letter case and bytes are preserved.
    ///
    /// Also converts trailers. Throws ``HTTPMessageError/Code/invalidFieldValue`` for a value that those types would modify,
    /// such as control characters that a leniency accepted, and ``HTTPMessageError/Code/tooManyFields`` for more fields than
    /// they support.
    public init(_ fields: HTTPMessage.HTTPFields) throws(HTTPMessageError) {
        guard fields.count < UInt16.max else { throw HTTPMessageError(.tooManyFields, fault: .caller) }
        self.init()
        reserveCapacity(fields.count)
        for field in fields {
            guard let name = HTTPTypes.HTTPField.Name(field.name.name) else {
                throw HTTPMessageError(.invalidFieldName, fault: .caller)
            }
            let bytes = field.rawValue
            let copy = HTTPTypes.HTTPField(name: name, value: bytes)
            guard copy.withUnsafeBytesOfValue({ $0.elementsEqual(bytes) }) else {
                throw HTTPMessageError(.invalidFieldValue, fault: .caller)
            }
            append(copy)
        }
    }
}

extension HTTPMessage.HTTPFields {
    /// Converts fields from the types of apple/swift-http-types. Order, letter case and bytes are preserved.
    ///
    /// Also converts trailers. Throws ``HTTPMessageError/Code/invalidFieldName`` and
    /// ``HTTPMessageError/Code/invalidFieldValue`` for names and values that HTTP/1 cannot represent.
    public init(_ fields: HTTPTypes.HTTPFields) throws(HTTPMessageError) {
        self.init()
        for field in fields {
            guard let name = HTTPFieldName(field.name.rawName) else {
                throw HTTPMessageError(.invalidFieldName, fault: .caller)
            }
            try append(rawValue: field.withUnsafeBytesOfValue { Array($0) }, for: name)
        }
    }
}
#endif
