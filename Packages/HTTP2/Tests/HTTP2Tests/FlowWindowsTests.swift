import HTTP2Testing
import Testing

@testable import HTTP2

struct ReceiveWindowTests {
    @Test(arguments: 1...4) func sumNeverChanges(seed: UInt64) {
        var window = ReceiveWindow(size: 1000)
        var random = SeededRandom(seed: seed)
        for _ in 0..<10_000 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0: _ = window.receive(Int.random(in: 0...400, using: &random))
            case 1: window.consume(Int64.random(in: 0...window.unread, using: &random))
            case 2: window.grow(by: 10)
            case 3: if window.size > 500 { window.shrink(by: 10) }
            default: _ = window.takeCredit(threshold: window.size / 2)
            }
            #expect(window.available + window.unread + window.pending == window.size)
            #expect(window.available >= 0 && window.unread >= 0)
        }
    }

    /// SETTINGS can make a window negative. Only an empty frame fits until it is read (RFC 9113 §6.9.2).
    @Test func aReducedWindow() {
        var window = ReceiveWindow(size: 65_535)
        #expect(window.receive(30_000) == true)
        window.adjust(to: 1000)
        #expect(window.size == 1000 && window.available == -29_000 && window.unread == 30_000)
        #expect(window.receive(1) == false)
        #expect(window.receive(0) == true)
        window.consume(30_000)
        #expect(window.takeCredit(threshold: 500) == 30_000)
        #expect(window.available == 1000)
    }

    /// The window of a stream that has ended shrinks to what is unread; reading it gives nothing back.
    @Test func aWindowShrinksToWhatIsUnread() {
        var window = ReceiveWindow(size: 1000)
        #expect(window.receive(300) == true)
        #expect(window.shrinkToUnread() == 700)
        #expect(window.size == 300)
        window.consume(300)
        #expect(window.takeCredit(threshold: 1) == nil)
    }

    @Test func creditComesAtHalfAWindow() {
        var window = ReceiveWindow(size: 1000)
        #expect(window.receive(1000) == true)
        #expect(window.receive(1) == false)
        window.consume(499)
        #expect(window.takeCredit(threshold: 500) == nil)
        window.consume(1)
        #expect(window.takeCredit(threshold: 500) == 500)
        #expect(window.takeCredit(threshold: 500) == nil)
        #expect(window.available == 500 && window.unread == 500)
    }

    @Test func whatAShrunkWindowOwesIsNotGivenBack() {
        var window = ReceiveWindow(size: 1000)
        window.shrink(by: 400)
        #expect(window.receive(800) == true)
        window.consume(800)
        #expect(window.takeCredit(threshold: 1) == 400)
        #expect(window.available == 600 && window.size == 600)
    }
}

struct SendWindowTests {
    @Test func limit() {
        var window = SendWindow(size: 65_535)
        #expect(window.add(SendWindow.maximum - 65_535) == true)
        #expect(window.add(1) == false)
        #expect(window.available == SendWindow.maximum)
    }

    @Test func isNegativeAfterSettings() {
        var window = SendWindow(size: 100)
        window.spend(80)
        #expect(window.add(-100) == true)
        #expect(window.available == -80)
        #expect(window.add(90) == true)
        #expect(window.available == 10)
    }

    @Test func aWindowThatWasNeverLargeIsNotExhausted() {
        #expect(!SendWindow(size: 5).isNearlyExhausted)
        var window = SendWindow(size: 2000)
        window.spend(1500)
        #expect(window.isNearlyExhausted)
        #expect(window.add(600) == true)
        #expect(!window.isNearlyExhausted)
    }
}

struct CreditWaitTests {
    @Test func aLargeWindowEndsTheWait() {
        let small = SendWindow(size: SendWindow.smallest - 1)
        let wait = CreditWait.next(nil, small, now: .seconds(1))
        #expect(wait?.since == .seconds(1))
        #expect(CreditWait.next(wait, small, now: .seconds(2))?.since == .seconds(1), "the wait goes on")
        #expect(CreditWait.next(wait, SendWindow(size: SendWindow.smallest), now: .seconds(2)) == nil)
    }

    /// A few bytes now and then do not end the wait, unless they are as many as a small window together.
    @Test func bytesEndTheWaitTogether() {
        var wait = CreditWait.next(nil, SendWindow(size: 0), now: .zero)
        for _ in 0..<3 {
            wait = wait?.afterSending(Int(SendWindow.smallest) / 4)
            #expect(wait != nil)
        }
        #expect(wait?.afterSending(Int(SendWindow.smallest) / 4) == nil)
    }
}
