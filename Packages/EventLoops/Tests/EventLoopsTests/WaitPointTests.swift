import Glibc
import Synchronization
import Testing

@testable import EventLoops

extension EventLoopsTests {
    /// What a point is: its descriptor, its ownership, its signals.
    @Suite struct WaitPointTests {
        @Test func signalsWakeAPointWithoutADescriptor() async {
            let point = WaitPoint()
            #expect(point.descriptor == -1)
            async let wake: Wake =
                point.enter(.writer) == .entered ? point.writerWait(for: .writable, until: nil) : .busy
            await until { point.isWriterParked }
            point.signal(.readable)
            #expect(point.isWriterParked)
            point.signal(.writable)
            #expect(await wake == .ready)
        }

        @Test func anEdgeIsLatchedForBothHalvesAndBothSlots() {
            let point = WaitPoint()
            point.signal(.readable)
            for half in [WaitPoint.Half.reader, .writer] {
                #expect(point.watch(half, for: .readable, with: CountingWatcher()) == .ready)
                #expect(point.park(CountingWatcher(), half, for: .readable) == .ready)
                #expect(point.park(CountingWatcher(), half, for: .readable) == .parked)
            }
        }

        @Test func aNewPointWithADescriptorIsQuiet() throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            #expect(point.reader.hasRoom(for: .readable) && point.readerWatch.hasRoom(for: .readable))
            #expect(point.descriptor == pair.near && point.ownership == .owned)
        }

        @Test func whoWaitsAlreadyIsWokenByTheDescriptor() async throws {
            let pair = try SocketPair()
            let point = WaitPoint()
            async let reading = point.readByte()
            await until { point.isReaderParked }
            point.attach(pair.near, ownership: .owned)
            SocketPair.send(7, to: pair.far)
            #expect(await reading == .byte(7))
            point.close()
        }

        @Test func aDescriptorThatComesAfterClosingIsClosedIfOwned() throws {
            let pair = try SocketPair()
            let point = WaitPoint()
            point.close()
            point.attach(pair.near, ownership: .owned)
            #expect(SocketPair.look(at: pair.far) == .end)
            #expect(point.descriptor == -1, "the number may be a stranger's by now")
        }

        @Test func aDescriptorThatComesAfterClosingIsLeftAloneIfBorrowed() throws {
            let pair = try SocketPair()
            defer { close(pair.near) }
            let point = WaitPoint()
            point.close()
            point.attach(pair.near, ownership: .borrowed)
            #expect(SocketPair.look(at: pair.far) == .nothing)
        }

        /// The caller was inside before the close and may go into `recv` with what it finds afterwards.
        @Test func aDescriptorThatComesAfterItsReaderClosedDoesNotBlockTheReaderInside() throws {
            let pair = try SocketPair()
            let point = WaitPoint()
            #expect(point.enter(.reader) == .entered)
            point.close(.reader)
            point.attach(pair.near, ownership: .owned)
            #expect(SocketPair.look(at: point.descriptor) == .end)  // shut down: a blocking recv would return as well
            point.leave(.reader)
            point.close()
            #expect(SocketPair.look(at: pair.far) == .end)
        }

        /// The descriptor is neither shown to the one inside nor closed a second time when it leaves.
        @Test func aDescriptorThatComesAfterBothClosedIsNotSeenInside() throws {
            let pair = try SocketPair()
            let point = WaitPoint()
            #expect(point.enter(.reader) == .entered)
            point.close()
            point.attach(pair.near, ownership: .owned)
            #expect(point.descriptor == -1)
            let stranger = dup(0)  // takes the number, most likely
            defer { close(stranger) }
            point.leave(.reader)
            #expect(fcntl(stranger, F_GETFD) >= 0)
        }

        @Test func aPointThatWasNeverWatchedClosesWithItsLastReference() throws {
            let pair = try SocketPair()
            do { _ = WaitPoint(descriptor: pair.near, ownership: .owned) }
            #expect(SocketPair.look(at: pair.far) == .end)
        }

        @Test func ownershipCanBeChangedAndGoneBackOn() throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            point.setOwnership(false)
            #expect(point.ownership == .borrowed)
            point.setOwnership(nil)
            #expect(point.ownership == .owned)
            point.setOwnership(false)
            point.close()
            #expect(SocketPair.look(at: pair.far) == .nothing)
            close(pair.near)
        }

        @Test func aDetachedDescriptorLivesOn() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            SocketPair.send(1, to: pair.far)
            #expect(await point.readByte() == .byte(1))
            _ = await point.readByte(until: .now)  // watched now
            #expect(point.detach() == pair.near)
            #expect(point.isClosed(.reader) && point.isClosed(.writer))
            #expect(SocketPair.look(at: pair.far) == .nothing)
            #expect(SocketPair.send(2, to: pair.far) && SocketPair.look(at: pair.near) == .byte(2))
            #expect(point.detach() == -1)

            let next = WaitPoint(descriptor: pair.near, ownership: .owned)  // and can be watched again
            async let reading = next.readByte()
            await until { next.isReaderParked }
            SocketPair.send(3, to: pair.far)
            #expect(await reading == .byte(3))
            next.close()
        }

        @Test func knowsWhenThePeerHasEnded() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            #expect(!point.isEnding)
            async let reading = point.readByte()
            await until { point.isReaderParked }
            shutdown(pair.far, CInt(SHUT_WR))
            #expect(await reading == .end)
            #expect(point.isEnding)
            point.close()
        }

        /// The point itself, and nothing else before a wait has a deadline.
        @Test func takesLittleMemory() throws {
            let point = WaitPoint()
            // Not in Swift's Glibc module.
            typealias Measure = @convention(c) (UnsafeMutableRawPointer) -> Int
            let measure = unsafeBitCast(try #require(dlsym(nil, "malloc_usable_size")), to: Measure.self)
            func size(_ object: AnyObject) -> Int { measure(Unmanaged.passUnretained(object).toOpaque()) }
            #expect(size(point) <= 88)
            let alarms = point.alarmSlot.alarms
            #expect(alarms == nil)
            #expect(size(WaitAlarms()) <= 40)
        }
    }
}
