// `@inline(__always)` in this module stands where `Scripts/bench --guard 4a 5a 12h` shows it: without those of the parser, it takes 2,160
// instructions for a head instead of 1,920.

extension HeadParser {
    /// One call of the parser: the loops over the bytes, which use an unsafe pointer.
    ///
    /// Each method continues from `state` and updates it when the bytes run out. A stage always stops at a byte that it has not
    /// examined yet, so that the result does not depend on how the bytes are split. Line endings other than CR LF and other
    /// deviations are considered only after the strict grammar has failed.
    struct Scan {
        let base: UnsafeRawPointer
        let end: Int
        let maximumLineLength: Int
        let maximumFieldCount: Int
        let leniency: HTTPLeniency

        func byte(_ i: Int) -> UInt8 {
            base.load(fromByteOffset: i, as: UInt8.self)
        }

        /// Returns the error for a byte, or `lineTooLong` if the line is too long already.
        ///
        /// The precedence makes the error independent of how the line was split.
        @inline(never)
        func failure(_ code: HTTPMessageError.Code, at offset: Int, line: Int) -> HTTPMessageError {
            offset - line > maximumLineLength
                ? HTTPMessageError(.lineTooLong, offset: line + maximumLineLength)
                : HTTPMessageError(code, offset: offset)
        }

        func checkLength(of line: Int, to offset: Int) throws(HTTPMessageError) {
            if offset &- line > maximumLineLength {
                throw HTTPMessageError(.lineTooLong, offset: line + maximumLineLength)
            }
        }

        /// Returns the start of the next line if a line ends at `offset`, or nil if the bytes run out.
        func lineEnd(
            at offset: Int, line: Int, otherwise code: HTTPMessageError.Code,
            recording toleratedDeviations: inout HTTPLeniency
        ) throws(HTTPMessageError) -> Int? {
            if byte(offset) == HTTPGrammar.cr {
                if offset &+ 1 >= end { return nil }
                if byte(offset &+ 1) == HTTPGrammar.lf {
                    try checkLength(of: line, to: offset)
                    return offset &+ 2
                }
            }
            return try lenientLineEnd(at: offset, line: line, otherwise: code, recording: &toleratedDeviations)
        }

        @inline(never)
        private func lenientLineEnd(
            at offset: Int, line: Int, otherwise code: HTTPMessageError.Code,
            recording toleratedDeviations: inout HTTPLeniency
        ) throws(HTTPMessageError) -> Int? {
            switch byte(offset) {
            case HTTPGrammar.lf:
                guard leniency.contains(.bareLineFeed) else { throw failure(.bareLineFeed, at: offset, line: line) }
                toleratedDeviations.insert(.bareLineFeed)
            case HTTPGrammar.cr:
                guard leniency.contains(.bareCarriageReturn) else {
                    throw failure(.bareCarriageReturn, at: offset, line: line)
                }
                toleratedDeviations.insert(.bareCarriageReturn)
            default:
                throw failure(code, at: offset, line: line)
            }
            try checkLength(of: line, to: offset)
            return offset + 1
        }

        /// Parses the field lines up to and including the empty line (RFC 9112 §5).
        @inline(__always)
        func fields(_ state: inout State, _ buffer: inout SlotBuffer) throws(HTTPMessageError) {
            if state.stage == .fieldName, state.scan == state.lineStart {
                let capacity = Swift.min(buffer.capacity, maximumFieldCount)
                let (count, line) = strictFields(
                    buffer.slots, from: state.fieldCount, to: capacity, at: state.lineStart)
                state.fieldCount = count
                state.lineStart = line
                state.scan = line
                if line &+ 2 <= end, Scan.word(base, line) == 0x0A0D {
                    state.fieldsEnd = line
                    state.scan = line &+ 2
                    state.stage = .complete
                    return
                }
            }
            try anyFields(&state, &buffer)
        }

        /// Parses field lines that may be incomplete, deviate from the strict syntax or be invalid, and those after them.
        @inline(never)
        private func anyFields(_ state: inout State, _ buffer: inout SlotBuffer) throws(HTTPMessageError) {
            var count = state.fieldCount
            var (line, i) = (state.lineStart, state.scan)
            var (nameEnd, valueStart) = (state.nameEnd, state.valueStart)
            var stage = state.stage

            scan: while true {
                if stage == .fieldName {
                    i = HTTPGrammar.endOfToken(base, from: i, to: end)
                    if i >= end { break scan }
                    switch try afterName(
                        line: line, at: i, isFirst: count == 0, recording: &state.toleratedDeviations)
                    {
                    case .value(let start):
                        nameEnd = i
                        i = start
                        valueStart = start
                        stage = .fieldValue
                    case .fold: stage = .fold
                    case .needMore: break scan
                    case .endOfHead(let next):
                        state.fieldsEnd = line
                        stage = .complete
                        i = next
                        break scan
                    }
                }

                if stage == .fieldValue, i == valueStart {
                    while i < end, HTTPGrammar.isSpaceOrTab(byte(i)) { i &+= 1 }
                    valueStart = i
                }
                i = endOfAnyValue(from: i, recording: &state.toleratedDeviations)
                if i >= end { break scan }
                guard
                    let next = try lineEnd(
                        at: i, line: line, otherwise: .invalidFieldValue, recording: &state.toleratedDeviations)
                else { break scan }

                if stage == .fold {
                    // Trims only within this line, so that many lines of only whitespace take linear time.
                    let valueEnd = trimmedEnd(from: line, to: i)
                    if valueEnd > line { buffer.slots[count - 1].valueEnd = UInt32(truncatingIfNeeded: valueEnd) }
                    state.toleratedDeviations.insert(.foldedLines)
                } else {
                    let value = Range(uncheckedBounds: (valueStart, trimmedEnd(from: valueStart, to: i)))
                    try append(Range(uncheckedBounds: (line, nameEnd)), value, to: &buffer, &count)
                }
                (count, line) = strictFields(
                    buffer.slots, from: count, to: Swift.min(buffer.capacity, maximumFieldCount), at: next)
                i = line
                stage = .fieldName
            }

            if stage != .complete { try checkLength(of: line, to: i) }
            state.stage = stage
            (state.lineStart, state.scan) = (line, i)
            (state.nameEnd, state.valueStart) = (nameEnd, valueStart)
            state.fieldCount = count
        }

        /// Parses complete lines in strict syntax: almost all lines of almost all messages.
        ///
        /// Stops at the first line that is incomplete or has another syntax, which the caller parses. Returns the new number of
        /// fields and the start of that line.
        @inline(never)
        private func strictFields(
            _ slots: UnsafeMutablePointer<FieldSlot>, from first: Int, to capacity: Int, at line: Int
        ) -> (count: Int, line: Int) {
            let base = base
            // No line within these bytes is too long.
            let end = Swift.min(end, line &+ maximumLineLength)
            let slotsEnd = slots + capacity
            var slot = slots + first
            var start = line
            // All loads below are within the bytes, which contain 16 bytes of a name, a colon, a space and two more bytes.
            while slot < slotsEnd, start &+ 20 <= end {
                var nameEnd = start &+ HTTPGrammar.distanceToNonLetter(base, from: start)
                if nameEnd == start { break }
                var valueStart = nameEnd &+ 2
                if Scan.word(base, nameEnd) != 0x203A || Scan.byte(base, valueStart) <= HTTPGrammar.space {
                    // An unusual name, an empty value, or not exactly one space before the value.
                    (nameEnd, valueStart) = Scan.startOfValue(base, nameEnd: nameEnd, end)
                    if valueStart &+ 2 > end { break }
                }
                var offset = valueStart
                while offset &+ 18 <= end {
                    let distance = HTTPGrammar.distanceToControl(base, from: offset)
                    offset &+= distance
                    if distance < 16 { break }
                }
                if Scan.word(base, offset) != 0x0A0D {
                    // A value that contains tabs or is near the end of the bytes.
                    offset = HTTPGrammar.endOfValue(base, from: offset, to: end)
                    if offset &+ 2 > end || Scan.word(base, offset) != 0x0A0D { break }
                }
                var valueEnd = offset
                if Scan.byte(base, offset &- 1) <= HTTPGrammar.space {
                    valueEnd = Scan.endOfTrimmed(base, valueStart, offset)
                }
                slot.pointee = FieldSlot(
                    name: Range(uncheckedBounds: (start, nameEnd)),
                    value: Range(uncheckedBounds: (valueStart, valueEnd)))
                slot += 1
                start = offset &+ 2
            }
            return (slot - slots, start)
        }

        // The functions below have no `self`, which would take a register in the loop above.

        private static func byte(_ base: UnsafeRawPointer, _ i: Int) -> UInt8 {
            base.load(fromByteOffset: i, as: UInt8.self)
        }

        /// Returns the bytes at `i` and `i + 1`, the first one in the lower bits.
        static func word(_ base: UnsafeRawPointer, _ i: Int) -> UInt16 {
            UInt16(littleEndian: base.loadUnaligned(fromByteOffset: i, as: UInt16.self))
        }

        /// Returns the end of a name whose bytes before `start` have been examined, and the end of the whitespace after its colon.
        ///
        /// The second one is `end` if no colon follows the name.
        @inline(never)
        private static func startOfValue(
            _ base: UnsafeRawPointer, nameEnd start: Int, _ end: Int
        ) -> (nameEnd: Int, valueStart: Int) {
            let nameEnd = HTTPGrammar.endOfToken(base, from: start, to: end)
            guard nameEnd < end, byte(base, nameEnd) == HTTPGrammar.colon else { return (nameEnd, end) }
            var valueStart = nameEnd &+ 1
            while valueStart < end, HTTPGrammar.isSpaceOrTab(byte(base, valueStart)) { valueStart &+= 1 }
            return (nameEnd, valueStart)
        }

        /// Returns the end of the value from `start` to `end` without its trailing spaces and tabs.
        @inline(never)
        private static func endOfTrimmed(_ base: UnsafeRawPointer, _ start: Int, _ end: Int) -> Int {
            var i = end
            while i > start, HTTPGrammar.isSpaceOrTab(byte(base, i &- 1)) { i &-= 1 }
            return i
        }

        /// Adds a field to the `count` fields in the buffer.
        private func append(
            _ name: Range<Int>, _ value: Range<Int>, to buffer: inout SlotBuffer, _ count: inout Int
        ) throws(HTTPMessageError) {
            if count >= maximumFieldCount { throw HTTPMessageError(.tooManyFields, offset: name.lowerBound) }
            if count == buffer.capacity { buffer = SlotBuffer(capacity: count * 2, copying: buffer, count: count) }
            buffer.slots[count] = FieldSlot(name: name, value: value)
            count &+= 1
        }

        /// The end of a value's bytes, among which the leniency may tolerate control characters.
        func endOfAnyValue(from start: Int, recording toleratedDeviations: inout HTTPLeniency) -> Int {
            var i = HTTPGrammar.endOfValue(base, from: start, to: end)
            while i < end, leniency.contains(.controlCharactersInValues), isToleratedControl(byte(i)) {
                toleratedDeviations.insert(.controlCharactersInValues)
                i = HTTPGrammar.endOfValue(base, from: i + 1, to: end)
            }
            return i
        }

        /// The end of a value without the whitespace behind it.
        private func trimmedEnd(from start: Int, to end: Int) -> Int {
            var end = end
            while end > start, HTTPGrammar.isSpaceOrTab(byte(end &- 1)) { end &-= 1 }
            return end
        }

        private enum AfterName {
            case value(start: Int)
            case fold
            case needMore
            case endOfHead(next: Int)
        }

        /// Examines what follows a name: a colon, or the empty line, a fold, a deviation or an error.
        @inline(never)
        private func afterName(
            line: Int, at i: Int, isFirst: Bool, recording toleratedDeviations: inout HTTPLeniency
        ) throws(HTTPMessageError) -> AfterName {
            switch byte(i) {
            case HTTPGrammar.colon where i > line: return .value(start: i + 1)
            case HTTPGrammar.cr where i == line, HTTPGrammar.lf where i == line:
                guard
                    let next = try lineEnd(
                        at: i, line: line, otherwise: .invalidFieldName, recording: &toleratedDeviations)
                else { return .needMore }
                return .endOfHead(next: next)
            case HTTPGrammar.cr, HTTPGrammar.lf:
                throw failure(.missingColon, at: i, line: line)
            case HTTPGrammar.space where i == line, HTTPGrammar.tab where i == line:
                if isFirst { throw failure(.leadingWhitespace, at: i, line: line) }
                guard leniency.contains(.foldedLines) else { throw failure(.foldedLine, at: i, line: line) }
                return .fold
            case HTTPGrammar.space, HTTPGrammar.tab:
                guard leniency.contains(.whitespaceBeforeColon), !isFraming(line..<i) else {
                    throw failure(.whitespaceBeforeColon, at: i, line: line)
                }
                var colon = i
                while colon < end, HTTPGrammar.isSpaceOrTab(byte(colon)) { colon += 1 }
                if colon >= end { return .needMore }
                guard byte(colon) == HTTPGrammar.colon else { throw failure(.missingColon, at: colon, line: line) }
                toleratedDeviations.insert(.whitespaceBeforeColon)
                return .value(start: colon + 1)
            default:
                throw failure(.invalidFieldName, at: i, line: line)
            }
        }

        /// Whether a name is that of a field on which the length of the message depends.
        private func isFraming(_ name: Range<Int>) -> Bool {
            let name = UnsafeRawBufferPointer(start: base + name.lowerBound, count: name.count)
            return ["content-length", "transfer-encoding"].contains { HTTPGrammar.equalsIgnoringCase(name, $0) }
        }

        func isToleratedControl(_ byte: UInt8) -> Bool {
            byte != 0 && byte != HTTPGrammar.cr && byte != HTTPGrammar.lf
        }
    }
}
