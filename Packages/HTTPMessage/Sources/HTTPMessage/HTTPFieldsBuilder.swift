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
    public struct Builder: ~Copyable {
        private(set) var storage: HeadStorage

        /// The number of bytes that a field needs beyond its name and its value: a colon, a space and a line ending.
        public static let bytesPerField = 4

        /// Creates a builder without fields.
        ///
        /// `byteCapacity` is the number of bytes of all names and values, ``bytesPerField`` for each field, and the start line. More
        /// fields or bytes than announced need another allocation, and nothing else.
        public init(fieldCapacity: Int, byteCapacity: Int) {
            storage = HeadStorage.make(slotCapacity: fieldCapacity, byteCapacity: byteCapacity + 2)
        }

        /// The number of fields.
        public var count: Int { storage.layout.fieldCount }

        /// Appends a field.
        ///
        /// Throws ``HTTPMessageError/Code/invalidFieldName`` if the name is not a token, and
        /// ``HTTPMessageError/Code/invalidFieldValue`` if the value begins or ends with whitespace, or contains a control character
        /// other than tab (RFC 9113 §8.2.1). The builder is then unchanged.
        public mutating func append(name: RawSpan, value: RawSpan) throws(HTTPMessageError) {
            if let bad = Self.offsetOfInvalidByte(inName: name) {
                throw HTTPMessageError(.invalidFieldName, offset: bad)
            }
            if let bad = Self.offsetOfInvalidByte(inValue: value) {
                throw HTTPMessageError(.invalidFieldValue, offset: bad)
            }
            ensureCapacity(slots: 1, bytes: name.byteCount + value.byteCount + Self.bytesPerField)
            let storage = storage
            let start = storage.layout.fieldsEnd
            let nameEnd = start + name.byteCount
            let valueEnd = nameEnd + 2 + value.byteCount
            storage.copy(name, to: start)
            storage.bytes[nameEnd] = HTTPGrammar.colon
            storage.bytes[nameEnd + 1] = HTTPGrammar.space
            storage.copy(value, to: nameEnd + 2)
            storage.slots[storage.layout.fieldCount] = FieldSlot(name: start..<nameEnd, value: nameEnd + 2..<valueEnd)
            storage.layout.fieldCount += 1
            storage.endSection(at: valueEnd)
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
            ensureCapacity(slots: 0, bytes: separator.count + value.byteCount)
            let start = slot.value.upperBound
            let end = start + separator.count + value.byteCount
            storage.copy(separator.bytes, to: start)
            storage.copy(value, to: start + separator.count)
            storage.slots[last] = FieldSlot(name: slot.name, value: slot.value.lowerBound..<end)
            storage.endSection(at: end)
        }

        /// The fields without a message, such as those of a trailer section.
        public consuming func fields() -> HTTPFields { HTTPFields(storage) }

        /// The fields behind a start line, whose parts are separated by single spaces and are valid.
        consuming func fields(
            after first: RawSpan, _ second: RawSpan, _ third: RawSpan, _ startLine: StartLine
        ) -> HTTPFields {
            let length = first.byteCount + 1 + second.byteCount + 1 + third.byteCount
            ensureCapacity(slots: 0, bytes: length + 2)
            storage.moveFields(by: length + 2)
            let secondStart = first.byteCount + 1
            let thirdStart = secondStart + second.byteCount + 1
            storage.copy(first, to: 0)
            storage.bytes[secondStart - 1] = HTTPGrammar.space
            storage.copy(second, to: secondStart)
            storage.bytes[thirdStart - 1] = HTTPGrammar.space
            storage.copy(third, to: thirdStart)
            storage.bytes[length] = HTTPGrammar.cr
            storage.bytes[length + 1] = HTTPGrammar.lf
            var line = startLine
            line.line = .init(0, length)
            line.first = line.status == nil ? .init(0, first.byteCount) : .init()
            line.second = line.status == nil ? .init(secondStart, thirdStart - 1) : .init(thirdStart, length)
            storage.layout.startLine = line
            return HTTPFields(storage)
        }

        private mutating func ensureCapacity(slots: Int, bytes: Int) {
            let layout = storage.layout
            if layout.fieldCount + slots > layout.slotCapacity || layout.byteCount + bytes > layout.byteCapacity {
                storage = storage.copy(addingSlots: slots, bytes: bytes)
            }
        }

        private static func offsetOfInvalidByte(inName name: RawSpan) -> Int? {
            name.withUnsafeBytes { name in
                guard let base = name.baseAddress, !name.isEmpty else { return 0 }
                let end = HTTPGrammar.endOfToken(base, from: 0, to: name.count)
                return end < name.count ? end : nil
            }
        }

        private static func offsetOfInvalidByte(inValue value: RawSpan) -> Int? {
            value.withUnsafeBytes { value in
                guard let base = value.baseAddress, !value.isEmpty else { return nil }
                if HTTPGrammar.isSpaceOrTab(value[0]) { return 0 }
                let end = HTTPGrammar.endOfValue(base, from: 0, to: value.count)
                if end < value.count { return end }
                return HTTPGrammar.isSpaceOrTab(value[value.count - 1]) ? value.count - 1 : nil
            }
        }
    }
}

extension HTTPFields {
    /// Calls `body` with the bytes of the name and of the value of each field, in order, without creating strings or arrays.
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
            if storage.layout.hasFolds {
                body(name, storage.value(index).span.bytes)
            } else {
                body(name, UnsafeRawBufferPointer(storage.slice(slot.value)).bytes)
            }
        }
        // The spans point into the storage.
        withExtendedLifetime(storage) {}
    }
}
