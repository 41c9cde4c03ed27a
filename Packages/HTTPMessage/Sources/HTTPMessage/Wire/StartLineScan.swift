extension HeadParser.Scan {
    typealias State = HeadParser.State

    /// Parses `method SP target SP version CR LF` (RFC 9112 §3).
    @inline(__always)
    func requestLine(_ state: inout State, emptyLines limit: Int) throws(HTTPMessageError) {
        if state.stage == .emptyLines {
            guard try skipEmptyLines(&state, limit) else { return }
            state.stage = .method
        }
        let line = state.start
        var i = state.scan
        if state.stage == .method {
            i = HTTPGrammar.endOfToken(base, from: i, to: end)
            if i >= end { return try suspend(&state, i) }
            guard byte(i) == HTTPGrammar.space, i > line else { throw failure(.invalidMethod, at: i, line: line) }
            state.startLine.first = .init(line, i)
            i &+= 1
            state.valueStart = i
            state.stage = .target
        }
        if state.stage == .target {
            if leniency.contains(.extraSpacesInStartLine), i == state.valueStart {
                i = skipSpaces(from: i, recording: &state.toleratedDeviations)
                state.valueStart = i
            }
            i = HTTPGrammar.endOfTarget(base, from: i, to: end)
            while i < end, let deviation = deviation(inTargetByte: byte(i)) {
                state.toleratedDeviations.insert(deviation)
                i = HTTPGrammar.endOfTarget(base, from: i + 1, to: end)
            }
            if i >= end { return try suspend(&state, i) }
            guard byte(i) == HTTPGrammar.space, i > state.valueStart else {
                let endsEarly = byte(i) == HTTPGrammar.space || byte(i) == HTTPGrammar.cr || byte(i) == HTTPGrammar.lf
                throw failure(endsEarly ? .malformedStartLine : .invalidTarget, at: i, line: line)
            }
            state.startLine.second = .init(state.valueStart, i)
            i &+= 1
            state.valueStart = i
            state.stage = .version
        }
        if leniency.contains(.extraSpacesInStartLine), i == state.valueStart {
            i = skipSpaces(from: i, recording: &state.toleratedDeviations)
            state.valueStart = i
        }
        guard let version = try version(at: i, line: line, recording: &state.toleratedDeviations), i &+ 8 < end,
            let next = try lineEnd(
                at: i &+ 8, line: line, otherwise: .malformedVersion, recording: &state.toleratedDeviations)
        else { return try suspend(&state, i) }
        state.startLine.version = version
        state.startLine.line = .init(line, i &+ 8)
        try checkTarget(state.startLine, line: line, recording: &state.toleratedDeviations)
        endStartLine(&state, next)
    }

    /// Parses `version SP status-code SP [reason-phrase] CR LF` (RFC 9112 §4).
    ///
    /// The SP before an absent reason may be absent too, because many servers omit it.
    func statusLine(_ state: inout State, emptyLines limit: Int) throws(HTTPMessageError) {
        if state.stage == .emptyLines, usualStatusLine(&state) { return }
        try anyStatusLine(&state, emptyLines: limit)
    }

    /// Parses a complete status line of HTTP/1.1 in strict syntax with a reason of up to 15 bytes.
    ///
    /// Returns false, without an effect, for all other bytes, which ``anyStatusLine(_:emptyLines:)`` parses.
    @inline(__always)
    private func usualStatusLine(_ state: inout State) -> Bool {
        let line = state.scan
        // The 13 bytes up to the reason, 16 that contain it, and the two of the line ending.
        guard line &+ 31 <= end, eightBytes(at: line) == Self.http11 else { return false }
        // The space and the three digits become 0 and the numbers 0 to 9, and the space after them 0. The word ends before the
        // reason; otherwise, the compiler would assemble the vector below from parts of both.
        let digits = eightBytes(at: line &+ 5) >> 24 ^ 0x20_3030_3020
        guard (digits &+ 0x7F_7676_767F | digits) & 0x80_8080_8080 == 0 else { return false }
        let status = (digits >> 8 & 0xF) &* 100 &+ (digits >> 16 & 0xF) &* 10 &+ (digits >> 24)
        let reason = line &+ 13
        let offset = reason &+ HTTPGrammar.distanceToControl(base, from: reason)
        guard status >= 100, byte(reason) != HTTPGrammar.space, Self.word(base, offset) == 0x0A0D,
            offset &- line <= maximumLineLength
        else { return false }
        state.start = line
        state.startLine = StartLine(version: .http11, status: UInt16(truncatingIfNeeded: status))
        state.startLine.second = .init(reason, offset)
        state.startLine.line = .init(line, offset)
        endStartLine(&state, offset &+ 2)
        return true
    }

    @inline(never)
    private func anyStatusLine(_ state: inout State, emptyLines limit: Int) throws(HTTPMessageError) {
        if state.stage == .emptyLines {
            guard try skipEmptyLines(&state, limit) else { return }
            state.stage = .version
        }
        let line = state.start
        var i = state.scan
        if state.stage == .version {
            guard let isShoutcast = beginsShoutcast(line) else { return try suspend(&state, line) }
            if isShoutcast {
                i &+= 3
                state.startLine.version = .http10
                state.toleratedDeviations.insert(.shoutcastStatusLine)
            } else {
                guard let version = try versionOrHeaderless(&state) else { return }
                i &+= 8
                state.startLine.version = version
            }
            if i >= end { return try suspend(&state, line) }
            guard byte(i) == HTTPGrammar.space else { throw failure(.malformedStartLine, at: i, line: line) }
            i &+= 1
            state.valueStart = i
            state.stage = .status
        }
        if state.stage == .status {
            guard let reason = try anyStatus(&state, line) else { return try suspend(&state, state.valueStart) }
            i = reason
            state.valueStart = reason
            state.stage = .reason
        }
        i = endOfAnyValue(from: i, recording: &state.toleratedDeviations)
        if i >= end { return try suspend(&state, i) }
        guard
            let next = try lineEnd(
                at: i, line: line, otherwise: .invalidReasonPhrase, recording: &state.toleratedDeviations)
        else {
            return try suspend(&state, i)
        }
        state.startLine.second = .init(state.valueStart, i)
        state.startLine.line = .init(line, i)
        endStartLine(&state, next)
    }

    /// Parses the status and the spaces around it. Returns the start of the reason; nil if more bytes are needed.
    private func anyStatus(_ state: inout State, _ line: Int) throws(HTTPMessageError) -> Int? {
        var i = state.valueStart
        if leniency.contains(.extraSpacesInStartLine) {
            i = skipSpaces(from: i, recording: &state.toleratedDeviations)
        }
        guard let status = try status(at: i, line: line), i &+ 3 < end else { return nil }
        i &+= 3
        if byte(i) == HTTPGrammar.space {
            i &+= 1
            if leniency.contains(.extraSpacesInStartLine) {
                i = skipSpaces(from: i, recording: &state.toleratedDeviations)
                if i >= end { return nil }
            }
        } else if byte(i) != HTTPGrammar.cr, byte(i) != HTTPGrammar.lf {
            throw failure(.invalidStatusCode, at: i, line: line)
        }
        state.startLine.status = status
        return i
    }

    private func endStartLine(_ state: inout State, _ next: Int) {
        state.fieldsStart = next
        state.lineStart = next
        state.scan = next
        state.stage = .fieldName
    }

    /// Skips the tolerated spaces after the required one. Returns the offset of the next byte.
    @inline(never)
    private func skipSpaces(from start: Int, recording toleratedDeviations: inout HTTPLeniency) -> Int {
        var i = start
        while i < end, byte(i) == HTTPGrammar.space { i += 1 }
        if i > start { toleratedDeviations.insert(.extraSpacesInStartLine) }
        return i
    }

    /// Saves the offset at which to continue when more bytes have arrived.
    private func suspend(_ state: inout State, _ i: Int) throws(HTTPMessageError) {
        try checkLength(of: state.start, to: i)
        state.scan = i
    }

    /// Skips empty lines before the start line (RFC 9112 §2.2). Returns false if the bytes run out.
    @inline(__always)
    private func skipEmptyLines(_ state: inout State, _ limit: Int) throws(HTTPMessageError) -> Bool {
        while state.scan < end {
            let found = byte(state.scan)
            guard found == HTTPGrammar.cr || found == HTTPGrammar.lf else {
                state.start = state.scan
                return true
            }
            guard
                let next = try lineEnd(
                    at: state.scan, line: state.scan, otherwise: .malformedStartLine,
                    recording: &state.toleratedDeviations)
            else { return false }
            if state.emptyLines >= limit { throw HTTPMessageError(.tooManyEmptyLines, offset: state.scan) }
            state.emptyLines += 1
            state.scan = next
        }
        return false
    }

    /// "HTTP/1.1" as the bytes of a word, the first one in the lowest bits.
    private static var http11: UInt64 { 0x312E_312F_5054_5448 }

    private static var http10: UInt64 { 0x302E_312F_5054_5448 }

    private func eightBytes(at i: Int) -> UInt64 {
        UInt64(littleEndian: base.loadUnaligned(fromByteOffset: i, as: UInt64.self))
    }

    /// Parses `HTTP/digit.digit` (RFC 9112 §2.3). Returns nil if the bytes run out.
    private func version(
        at i: Int, line: Int, recording toleratedDeviations: inout HTTPLeniency
    ) throws(HTTPMessageError) -> HTTPVersion? {
        if i &+ 8 <= end {
            let word = eightBytes(at: i)
            if word == Self.http11 { return .http11 }
            if word == Self.http10 { return .http10 }
        }
        return try uncommonVersion(at: i, line: line, recording: &toleratedDeviations)
    }

    @inline(never)
    private func uncommonVersion(
        at i: Int, line: Int, recording toleratedDeviations: inout HTTPLeniency
    ) throws(HTTPMessageError) -> HTTPVersion? {
        let pattern: StaticString = "HTTP/0.0"
        for k in 0..<8 {
            if i + k >= end { return nil }
            let found = byte(i + k)
            let matches = k == 5 || k == 7 ? HTTPGrammar.isDigit(found) : found == pattern.utf8Start[k]
            if !matches { throw failure(.malformedVersion, at: i + k, line: line) }
        }
        let version = HTTPVersion(unchecked: byte(i + 5) - UInt8(ascii: "0"), byte(i + 7) - UInt8(ascii: "0"))
        if version == .http10 || version == .http11 { return version }
        guard leniency.contains(.anyVersion) else { throw failure(.unsupportedVersion, at: i + 5, line: line) }
        toleratedDeviations.insert(.anyVersion)
        return version
    }

    /// Parses the version, or completes a response without a head.
    ///
    /// Returns nil in the latter case, and if the bytes run out.
    private func versionOrHeaderless(_ state: inout State) throws(HTTPMessageError) -> HTTPVersion? {
        let line = state.start
        if leniency.contains(.headerlessResponse) {
            let pattern: StaticString = "HTTP/"
            var k = 0
            while k < 5, line + k < end, byte(line + k) == pattern.utf8Start[k] { k += 1 }
            if k < 5, line + k < end {
                state.startLine.version = .http09
                state.startLine.status = 200
                state.scan = 0
                state.start = 0
                state.fieldsStart = 0
                state.fieldsEnd = 0
                state.stage = .complete
                // The empty lines before it belong to its body, so their deviations do not count.
                state.toleratedDeviations = .headerlessResponse
                return nil
            }
        }
        let version = try version(at: line, line: line, recording: &state.toleratedDeviations)
        if version == nil { try suspend(&state, line) }
        return version
    }

    /// Whether a line begins with `ICY ` in place of the version, as radio streams do, and that is tolerated. Nil if the bytes run out.
    private func beginsShoutcast(_ line: Int) -> Bool? {
        guard leniency.contains(.shoutcastStatusLine) else { return false }
        let pattern: StaticString = "ICY "
        for k in 0..<4 {
            if line + k >= end { return nil }
            if byte(line + k) != pattern.utf8Start[k] { return false }
        }
        return true
    }

    /// Parses a status code of three digits, from 100. Returns nil if the bytes run out.
    private func status(at i: Int, line: Int) throws(HTTPMessageError) -> UInt16? {
        var status: UInt16 = 0
        for k in 0..<3 {
            if i &+ k >= end { return nil }
            let digit = byte(i &+ k) &- UInt8(ascii: "0")
            guard digit < 10, k > 0 || digit > 0 else { throw failure(.invalidStatusCode, at: i + k, line: line) }
            status = status &* 10 &+ UInt16(digit)
        }
        return status
    }

    /// The tolerated deviation that a byte is which no target contains; nil if it is not tolerated.
    private func deviation(inTargetByte byte: UInt8) -> HTTPLeniency? {
        let deviation: HTTPLeniency
        switch byte {
        case HTTPGrammar.hash: deviation = .anyTargetForm
        case 0x80...: deviation = .nonASCIITarget
        default: return nil
        }
        return leniency.contains(deviation) ? deviation : nil
    }

    /// Checks that the target has a form that the method allows (RFC 9112 §3.2).
    @inline(__always)
    private func checkTarget(
        _ startLine: StartLine, line: Int, recording toleratedDeviations: inout HTTPLeniency
    ) throws(HTTPMessageError) {
        let method = UnsafeRawBufferPointer(rebasing: buffer[startLine.first.range])
        let target = UnsafeRawBufferPointer(rebasing: buffer[startLine.second.range])
        if target.first == UInt8(ascii: "/"), method.count != 7 { return }
        if !RequestTarget.hasUser(target), let form = RequestTarget.form(of: target),
            RequestTarget.isForm(form, allowedFor: method)
        {
            return
        }
        guard leniency.contains(.anyTargetForm) else {
            throw failure(.invalidTarget, at: Int(startLine.second.start), line: line)
        }
        toleratedDeviations.insert(.anyTargetForm)
    }

    private var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: end) }
}
