import Testing

@testable import HTTP2

struct SettingsTests {
    /// RFC 9113 §6.5.2: the values before the first SETTINGS.
    @Test func initialValues() {
        let settings = HTTP2Settings()
        #expect(settings.headerTableSize == 4096 && settings.isPushEnabled)
        #expect(settings.maximumConcurrentStreams == nil && settings.maximumHeaderListSize == nil)
        #expect(settings.initialWindowSize == 65_535 && settings.maximumFrameSize == 16_384)
        #expect(settings.isConnectProtocolEnabled == nil && settings.ignoresRFC7540Priorities == nil)
    }

    @Test func eachSettingHasItsProperty() throws {
        var settings = HTTP2Settings()
        for (id, value) in [
            (.headerTableSize, .max), (.enablePush, 0), (.maximumConcurrentStreams, .max),
            (.initialWindowSize, 0x7FFF_FFFF), (.maximumFrameSize, 16_777_215), (.maximumHeaderListSize, 0),
            (.enableConnectProtocol, 1), (.noRFC7540Priorities, 1),
        ] as [(SettingID, UInt32)] {
            try settings.apply(Setting(id, value), from: .client)
        }
        #expect(settings.headerTableSize == 0xFFFF_FFFF && !settings.isPushEnabled)
        #expect(settings.maximumConcurrentStreams == 0xFFFF_FFFF && settings.maximumHeaderListSize == 0)
        #expect(settings.initialWindowSize == 0x7FFF_FFFF && settings.maximumFrameSize == 16_777_215)
        #expect(settings.isConnectProtocolEnabled == true && settings.ignoresRFC7540Priorities == true)
        let before = settings
        try settings.apply(Setting(SettingID(rawValue: 0x7), 1), from: .client)
        try settings.apply(Setting(SettingID(rawValue: 0xFFFF), .max), from: .client)
        #expect(settings == before, "unknown settings are ignored")
    }

    /// The first and the last value that is allowed, and those beside them.
    @Test(
        arguments: [
            (.enablePush, 2, .protocolError, "RFC 9113 §6.5.2"),
            (.initialWindowSize, 1 << 31, .flowControlError, "RFC 9113 §6.5.2"),
            (.maximumFrameSize, 16_383, .protocolError, "RFC 9113 §6.5.2"),
            (.maximumFrameSize, 16_777_216, .protocolError, "RFC 9113 §6.5.2"),
            (.enableConnectProtocol, 2, .protocolError, "RFC 8441 §3"),
            (.noRFC7540Priorities, 2, .protocolError, "RFC 9218 §2.1"),
        ] as [(SettingID, UInt32, ErrorCode, String)])
    func forbiddenValues(_ id: SettingID, _ value: UInt32, _ code: ErrorCode, _ rule: String) throws {
        var settings = HTTP2Settings()
        let error = expectError(rule) { try settings.apply(Setting(id, value), from: .client) }
        #expect(error?.code == code && error?.scope == .connection && error?.fault == .peer)
        #expect(error?.reason == "the value \(value) of the setting \(id.rawValue)")
        #expect(settings == HTTP2Settings(), "nothing was applied")
    }

    /// A server that enables push would allow the client to push (RFC 9113 §6.5.2).
    @Test func onlyAClientEnablesPush() throws {
        var settings = HTTP2Settings()
        try settings.apply(Setting(.enablePush, 0), from: .server)
        expectError("RFC 9113 §6.5.2") { try settings.apply(Setting(.enablePush, 1), from: .server) }
        #expect(!settings.isPushEnabled)
        try settings.apply(Setting(.enablePush, 1), from: .client)
        #expect(settings.isPushEnabled)
    }

    /// RFC 8441 §3: what was allowed stays so. RFC 9218 §2.1: the first SETTINGS decide, also by saying nothing.
    @Test func whatCannotChange() throws {
        var settings = HTTP2Settings()
        try settings.apply(Setting(.enableConnectProtocol, 0), from: .server)
        try settings.apply(Setting(.enableConnectProtocol, 1), from: .server)
        try settings.apply(Setting(.enableConnectProtocol, 1), from: .server)
        expectError("RFC 8441 §3") { try settings.apply(Setting(.enableConnectProtocol, 0), from: .server) }
        for first in [nil, 0, 1] as [UInt32?] {
            var settings = HTTP2Settings()
            if let first { try settings.apply(Setting(.noRFC7540Priorities, first), from: .server) }
            settings.endFirstSettings()
            #expect(settings.ignoresRFC7540Priorities == (first == 1))
            try settings.apply(Setting(.noRFC7540Priorities, first ?? 0), from: .server)
            expectError("RFC 9218 §2.1") {
                try settings.apply(Setting(.noRFC7540Priorities, 1 - (first ?? 0)), from: .server)
            }
        }
    }

    @Test func entriesAreReadFromAPayload() {
        let payload: [UInt8] = [0, 4, 1, 2, 3, 4, 0xAB, 0xCD, 0, 0, 0, 5]
        #expect(Setting(payload.span.bytes, at: 0) == Setting(.initialWindowSize, 0x0102_0304))
        #expect(Setting(payload.span.bytes, at: 1) == Setting(SettingID(rawValue: 0xABCD), 5))
    }
}
