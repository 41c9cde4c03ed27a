extension HTTPFields {
    /// Builds the fields of a received message from bytes that another format carries, such as HTTP/2 and HTTP/3.
    ///
    /// The fields are written once, in their final form: a builder with sufficient capacity makes one allocation, and no string.
    ///
    /// ```swift
    /// var builder = HTTPFields.Builder(fieldCapacity: 2, byteCapacity: 64)
    /// try builder.append(name: "content-type".utf8.span.bytes, value: "text/html".utf8.span.bytes)
    /// try builder.append(name: "cookie".utf8.span.bytes, value: "a=b".utf8.span.bytes)
    /// try builder.extendLast(with: "c=d".utf8.span.bytes, separator: "; ")
    /// let response = HTTPResponse(status: .ok, version: .http20, fields: builder)
    /// response.fields[.cookie]  // "a=b; c=d"
    /// ```
    @_spi(Packages) public struct Builder: ~Copyable {
        private(set) var storage: HeadStorage

        /// The number of fields.
        public private(set) var count = 0

        /// The offset behind the last field line.
        private var end = 0
        private var fieldCapacity: Int
        /// The number of bytes for field lines. The storage has room for the empty line behind them.
        private var byteCapacity: Int

        /// The number of bytes that a field needs beyond its name and its value: a colon, a space and a line ending.
        public static let bytesPerField = 4

        /// Creates a builder without fields.
        ///
        /// `byteCapacity` is the number of bytes of all names and values, ``bytesPerField`` for each field, and the start line. More
        /// fields or bytes than announced need another allocation, and nothing else.
        public init(fieldCapacity: Int, byteCapacity: Int) {
            storage = HeadStorage.make(slotCapacity: fieldCapacity, byteCapacity: byteCapacity + 2)
            self.fieldCapacity = fieldCapacity
            self.byteCapacity = byteCapacity
        }

        /// Appends a field.
        ///
        /// Throws ``HTTPMessageError/Code/invalidFieldName`` if the name is not a token in lower case (RFC 9113 §8.2, RFC 9114 §4.2),
        /// and ``HTTPMessageError/Code/invalidFieldValue`` if the value begins or ends with whitespace, or contains a control character
        /// other than tab (RFC 9113 §8.2.1). The builder is then unchanged.
        public mutating func append(name: RawSpan, value: RawSpan) throws(HTTPMessageError) {
            if let bad = Self.offsetOfInvalidByte(inName: name) {
                throw HTTPMessageError(.invalidFieldName, offset: bad)
            }
            if let bad = Self.offsetOfInvalidByte(inValue: value) {
                throw HTTPMessageError(.invalidFieldValue, offset: bad)
            }
            let nameEnd = end &+ name.byteCount
            let valueEnd = nameEnd &+ 2 &+ value.byteCount
            if count == fieldCapacity || valueEnd &+ 2 > byteCapacity { grow(slots: 1, bytes: valueEnd &+ 2 &- end) }
            let bytes = storage.bytes
            bytes.copy(name, to: end)
            bytes[nameEnd] = HTTPGrammar.colon
            bytes[nameEnd &+ 1] = HTTPGrammar.space
            bytes.copy(value, to: nameEnd &+ 2)
            bytes.endLine(at: valueEnd)
            storage.slots[count] = FieldSlot(
                name: Range(uncheckedBounds: (end, nameEnd)), value: Range(uncheckedBounds: (nameEnd &+ 2, valueEnd)))
            count &+= 1
            end = valueEnd &+ 2
        }

        /// Appends a separator and a value to the value of the last field, as a recipient does with the pieces of a `Cookie` (RFC 9113
        /// §8.2.3). The separator is not written if one of the two values is empty.
        ///
        /// Throws ``HTTPMessageError/Code/invalidFieldValue`` as ``append(name:value:)`` does. The builder is then unchanged.
        ///
        /// - Precondition: there is a field, and the separator is valid within a value.
        public mutating func extendLast(with value: RawSpan, separator: StaticString) throws(HTTPMessageError) {
            let last = count - 1
            precondition(last >= 0, "there is no field to extend")
            if let bad = Self.offsetOfInvalidByte(inValue: value) {
                throw HTTPMessageError(.invalidFieldValue, offset: bad)
            }
            let slot = storage.slots[last]
            let needsSeparator = !slot.value.isEmpty && value.byteCount > 0
            let separator = UnsafeRawBufferPointer(
                start: separator.utf8Start, count: needsSeparator ? separator.utf8CodeUnitCount : 0)
            if end + separator.count + value.byteCount > byteCapacity {
                grow(slots: 0, bytes: separator.count + value.byteCount)
            }
            let start = slot.value.upperBound
            let valueEnd = start + separator.count + value.byteCount
            storage.bytes.copy(separator.bytes, to: start)
            storage.bytes.copy(value, to: start + separator.count)
            storage.bytes.endLine(at: valueEnd)
            storage.slots[last] = FieldSlot(name: slot.name, value: slot.value.lowerBound..<valueEnd)
            end = valueEnd + 2
        }

        /// The fields without a message, such as those of a trailer section.
        public consuming func fields() -> HTTPFields {
            seal()
            return HTTPFields(storage)
        }

        /// The fields behind a start line, whose parts are separated by single spaces and are valid.
        consuming func fields(
            after first: RawSpan, _ second: RawSpan, _ third: RawSpan, _ startLine: StartLine
        ) -> HTTPFields {
            let secondStart = first.byteCount + 1
            let thirdStart = secondStart + second.byteCount + 1
            let length = thirdStart + third.byteCount
            if end + length + 2 > byteCapacity { grow(slots: 0, bytes: length + 2) }
            seal()
            storage.moveFields(by: length + 2)
            let bytes = storage.bytes
            bytes.copy(first, to: 0)
            bytes[secondStart - 1] = HTTPGrammar.space
            bytes.copy(second, to: secondStart)
            bytes[thirdStart - 1] = HTTPGrammar.space
            bytes.copy(third, to: thirdStart)
            bytes.endLine(at: length)
            var line = startLine
            line.line = .init(0, length)
            line.first = line.status == nil ? .init(0, first.byteCount) : .init()
            line.second = line.status == nil ? .init(secondStart, thirdStart - 1) : .init(thirdStart, length)
            storage.layout.startLine = line
            return HTTPFields(storage)
        }

        /// Ends the section with its empty line.
        private mutating func seal() {
            storage.bytes.endLine(at: end)
            storage.layout.fieldCount = count
            storage.layout.fieldsEnd = end
            storage.layout.byteCount = end + 2
        }

        private mutating func grow(slots: Int, bytes: Int) {
            seal()
            storage = storage.copy(addingSlots: slots, bytes: bytes)
            fieldCapacity = storage.layout.slotCapacity
            byteCapacity = storage.layout.byteCapacity - 2
        }

        @inline(__always)
        private static func offsetOfInvalidByte(inName name: RawSpan) -> Int? {
            name.withUnsafeBytes { name in
                guard let base = name.baseAddress, !name.isEmpty else { return 0 }
                if HTTPGrammar.isLowercaseLettersAndHyphens(base, count: name.count) { return nil }
                return name.firstIndex { !HTTPGrammar.isToken($0) || $0 &- UInt8(ascii: "A") < 26 }
            }
        }

        @inline(__always)
        private static func offsetOfInvalidByte(inValue value: RawSpan) -> Int? {
            value.withUnsafeBytes { value in
                guard let base = value.baseAddress, !value.isEmpty else { return nil }
                if HTTPGrammar.isSpaceOrTab(value[0]) { return 0 }
                if !HTTPGrammar.isFreeOfControls(base, count: value.count) {
                    let end = HTTPGrammar.endOfValue(base, from: 0, to: value.count)
                    if end < value.count { return end }
                }
                return HTTPGrammar.isSpaceOrTab(value[value.count - 1]) ? value.count - 1 : nil
            }
        }
    }
}

extension HTTPGrammar {
    /// Whether all bytes are letters in lower case and hyphens, as in most names. False if there are fewer than 8 bytes.
    ///
    /// The last bytes that are tested at once may overlap the ones before.
    @inline(__always)
    fileprivate static func isLowercaseLettersAndHyphens(_ base: UnsafeRawPointer, count: Int) -> Bool {
        if count < 8 { return false }
        var offset = 0
        while offset < count &- 8 {
            if !isLowercaseLettersAndHyphens(base + offset) { return false }
            offset &+= 8
        }
        return isLowercaseLettersAndHyphens(base + (count &- 8))
    }

    @inline(__always)
    private static func isLowercaseLettersAndHyphens(_ base: UnsafeRawPointer) -> Bool {
        let x = base.loadUnaligned(as: SIMD8<UInt8>.self)
        let isNotLetter = ~(x &+ SIMD8(repeating: 0x1F)) | (x &+ SIMD8(repeating: 0x05))
        let isNotHyphen = (x ^ SIMD8(repeating: UInt8(ascii: "-"))) &+ SIMD8(repeating: 0x7F)
        return (isNotLetter & isNotHyphen | x).hasNoTopBit
    }

    /// Whether no byte is a control character. False if there are fewer than 8 bytes.
    @inline(__always)
    fileprivate static func isFreeOfControls(_ base: UnsafeRawPointer, count: Int) -> Bool {
        if count < 8 { return false }
        if count < 16 { return isFreeOfControls(base) && isFreeOfControls(base + (count &- 8)) }
        var offset = 0
        while offset < count &- 16 {
            if distanceToControl(base, from: offset) < 16 { return false }
            offset &+= 16
        }
        return distanceToControl(base, from: count &- 16) == 16
    }

    @inline(__always)
    private static func isFreeOfControls(_ base: UnsafeRawPointer) -> Bool {
        let x = base.loadUnaligned(as: SIMD8<UInt8>.self)
        return (((x &- SIMD8(repeating: 0x20)) | (x &+ SIMD8(repeating: 0x01))) & ~x).hasNoTopBit
    }
}

extension SIMD8<UInt8> {
    fileprivate var hasNoTopBit: Bool { unsafeBitCast(self, to: UInt64.self) & 0x8080_8080_8080_8080 == 0 }
}

extension UnsafeMutablePointer<UInt8> {
    /// Copies bytes to an offset.
    fileprivate func copy(_ source: RawSpan, to offset: Int) {
        source.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            UnsafeMutableRawPointer(self + offset).copyMemory(from: base, byteCount: source.count)
        }
    }

    /// Writes CR LF at an offset.
    fileprivate func endLine(at offset: Int) {
        self[offset] = HTTPGrammar.cr
        self[offset &+ 1] = HTTPGrammar.lf
    }
}

extension HTTPFields {
    /// Calls `body` with the bytes of the name and of the value of each field, in order, without creating strings or arrays: the bytes of
    /// the serialized message, in which each fold and each control character that a parser has tolerated is a space.
    ///
    /// For formats other than HTTP/1, such as HTTP/2, in which such a value would be malformed.
    ///
    /// ```swift
    /// var size = 0
    /// request.fields.forEachRawField { name, value in size += name.byteCount + value.byteCount }
    /// ```
    public func forEachRawField(_ body: (_ name: RawSpan, _ value: RawSpan) -> Void) {
        let storage = storage
        for index in 0..<storage.layout.fieldCount {
            let slot = storage.slots[index]
            let name = UnsafeRawBufferPointer(storage.slice(slot.name)).bytes
            if !storage.layout.isStrict {
                body(name, storage.strictValue(index).span.bytes)
            } else {
                body(name, UnsafeRawBufferPointer(storage.slice(slot.value)).bytes)
            }
        }
        // The spans point into the storage.
        withExtendedLifetime(storage) {}
    }
    /// Calls `body` with the bytes of the value of the first field with this name, without creating a string or an array.
    ///
    /// Returns nil if there is no such field.
    ///
    /// ```swift
    /// let length = request.fields.withRawValue(of: .host) { $0.byteCount }
    /// ```
    @_spi(Packages) public func withRawValue<Result, Failure: Error>(
        of name: HTTPFieldName, _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let storage = storage
        guard let index = firstIndex(of: name) else { return nil }
        if storage.layout.hasFolds { return try body(storage.value(index).span.bytes) }
        // The span points into the storage.
        defer { withExtendedLifetime(storage) {} }
        return try body(UnsafeRawBufferPointer(storage.slice(storage.slots[index].value)).bytes)
    }
}
