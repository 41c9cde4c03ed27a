import HostResolver
import Testing

@_spi(Packages) @testable import StreamKit

@Suite struct ConnectionReportTests {
    private let address = SocketAddress.ip(IPAddress("192.0.2.1")!, port: 80)

    @Test func describesEachStep() {
        let refused = StreamError(posix: 111)
        let report = ConnectionReport([
            .init(kind: .lookup("host"), start: .zero, time: .milliseconds(2), outcome: .succeeded("2 addresses")),
            .init(
                kind: .connect(address), start: .milliseconds(2), time: .microseconds(340), outcome: .failed(refused)),
            .init(kind: .tls(nil), start: .milliseconds(3)),
            .init(kind: .proxy("SOCKS", "host:1080"), start: .milliseconds(3), time: .zero, outcome: .abandoned),
            .init(kind: .request("GET", "http://host/"), start: .zero),
        ])
        #expect(
            report.description == """
                lookup host  2.0 ms  2 addresses
                connect 192.0.2.1:80  0.3 ms  \(refused)
                TLS without a name  …  in progress
                SOCKS proxy host:1080  0.0 ms  abandoned
                GET http://host/  …  in progress
                """)
        #expect(report.failure?.kind == .connect(address))
        #expect(report.time == .milliseconds(3))
        #expect(ConnectionReport().failure == nil)
    }

    @Test func recorderKeepsTheFirstOutcome() {
        let start = Moment.now
        var recorder = ReportRecorder()
        let first = recorder.begin(.lookup("host"), now: start)
        let second = recorder.begin(.connect(address), now: start + .milliseconds(1))
        recorder.end(first, .succeeded("1 address"), now: start + .milliseconds(2))
        recorder.end(first, .abandoned, now: start + .milliseconds(3))
        recorder.endAll(.abandoned, now: start + .milliseconds(5))
        recorder.end(second, .succeeded("connected"), now: start + .milliseconds(6))
        #expect(recorder.report.steps.map(\.outcome) == [.succeeded("1 address"), .abandoned])
        #expect(recorder.report.steps.map(\.start) == [.zero, .milliseconds(1)])
        #expect(recorder.report.steps.map(\.time) == [.milliseconds(2), .milliseconds(4)])
    }

    /// Times are limited to an hour and eleven minutes, and never trap.
    @Test func recorderLimitsTimes() {
        let start = Moment.now
        var recorder = ReportRecorder()
        let step = recorder.begin(.lookup("host"), now: start)
        recorder.end(step, .succeeded(""), now: start + .seconds(1 << 40))
        let early = recorder.begin(.lookup("host"), now: start - .seconds(5))
        recorder.end(early, .succeeded(""), now: start + .seconds(4294))
        recorder.join(
            [.init(kind: .tls(nil), start: .seconds(1 << 40), time: .seconds(1 << 40))], begun: start + .seconds(1))
        let most = Duration.microseconds(UInt32.max - 1)
        #expect(recorder.report.steps.map(\.start) == [.zero, .zero, most])
        #expect(recorder.report.steps.map(\.time) == [most, most, .zero])
    }
}
