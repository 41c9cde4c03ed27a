import Testing

@testable import HTTP2

struct HTTP2LimitsTests {
    @Test func invalidValuesAreFound() {
        func isValid(_ change: (inout HTTP2Limits) -> Void) -> Bool {
            var limits = HTTP2Limits()
            change(&limits)
            return limits.violation == nil
        }
        #expect(isValid { _ in })
        #expect(isValid { $0.maximumConcurrentStreams = 8000 })
        #expect(!isValid { $0.maximumConcurrentStreams = 8192 })
        #expect(!isValid { $0.maximumConcurrentStreams = .max })
        #expect(!isValid { ($0.maximumConcurrentStreams, $0.initialStreamWindow) = (40_000, 0) })
        #expect(!isValid { $0.connectionWindowReserve = SendWindow.maximum })
        #expect(!isValid { $0.maximumStreamWindow = 1 << 31 })
        #expect(!isValid { $0.maximumConnectionWindow = 1 << 31 })
        #expect(!isValid { $0.maximumOutput = .max })
        #expect(!isValid { $0.fieldSection.listSize = .max })
        #expect(!isValid { $0.maximumSettingsEntries = .max })
        #expect(!isValid { $0.creditTimeout = .zero })
        #expect(!isValid { $0.pingInterval = .seconds(-1) })
        #expect(!isValid { $0.furtherPingInterval = .zero })
        #expect(!isValid { $0.fieldSection.droppedSize = -1 })
        var limits = HTTP2Limits()
        (limits.maximumConcurrentStreams, limits.fieldSection.listSize, limits.maximumOutput) = (.max, .max, .max)
        #expect(limits.maximumMemory == .max)
    }

    @Test func aViolationNamesTheProperty() {
        var limits = HTTP2Limits()
        limits.fieldSection.listSize = -1
        #expect(limits.violation == "fieldSection: listSize is from 0 to 1 GiB")
        limits = HTTP2Limits()
        limits.maximumInterimResponses = -1
        #expect(limits.violation == "maximumInterimResponses is negative")
    }
}
