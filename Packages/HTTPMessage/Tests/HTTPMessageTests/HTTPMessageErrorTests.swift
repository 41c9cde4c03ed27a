import HTTPMessage
import Testing

@Suite struct HTTPMessageErrorTests {
    @Test func describeCauseOffsetAndRule() {
        let error = HTTPMessageError(.whitespaceBeforeColon, offset: 21)
        #expect(error.description == "whitespace before the colon at byte 21 (RFC 9112 §5.1)")
        #expect(error.rule == "RFC 9112 §5.1")
        for code in HTTPMessageError.Code.allCases {
            #expect(!HTTPMessageError(code).description.isEmpty)
        }
    }

    // Parity: HM-105
    @Test(arguments: [
        (HTTPErrorNumber.parseFailure, -1, 303), (.redirectionLoop, -2, 304), (.badURL, -3, 305),
        (.connectionLost, -4, 302), (.authenticationTypeUnsupported, -1000, 300), (.badUserName, -1001, 301),
        (.badPassword, -1002, 301),
    ])
    func matchCFNetworksNumbers(number: HTTPErrorNumber, streamCode: Int, cfCode: Int) {
        #expect(number.rawValue == streamCode)
        #expect(number.cfErrorCode == cfCode)
        #expect(HTTPErrorNumber.ProxyError.allCases.map(\.rawValue) == Array(306...311))
    }

    // Parity: HM-105, HM-106
    @Test func mapToNumbers() {
        #expect(HTTPMessageError(.invalidFieldName).number == .parseFailure)
        #expect(HTTPMessageError(.truncated).number == .connectionLost)
        #expect(HTTPMessageError(.invalidURL, fault: .caller).number == .badURL)
        #expect(HTTPMessageError(.invalidFieldValue, fault: .caller).number == nil)
    }
}
