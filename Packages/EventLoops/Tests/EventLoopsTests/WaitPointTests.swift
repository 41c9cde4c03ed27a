import Glibc
import Synchronization
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    /// The descriptor, the ownership and the signals of a point.
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

        @Test func aPointThatWatchesAnotherForwardsOneEdge() {
            let (source, point, watcher) = (WaitPoint(), WaitPoint(), CountingWatcher())
            #expect(source.watch(.reader, for: .readable, with: point) == nil)
            #expect(point.watch(.reader, for: .readable, with: watcher) == nil)
            source.signal(.writable)
            #expect(watcher.count == 0)
            source.signal(.readable)
            #expect(watcher.count == 1)
            #expect(!source.unwatch(.reader, point), "a watcher fires once")
        }

        @Test func aNewPointWithADescriptorIsQuiet() throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            #expect(
                point.sides.reader.call.hasRoom(for: .readable) && point.sides.reader.observer.hasRoom(for: .readable))
            #expect(point.descriptor == pair.near && point.ownership == .owned)
        }

        @Test func attachingADescriptorWakesAWaitingCall() async throws {
            let pair = try SocketPair()
            let point = WaitPoint()
            async let reading = point.readByte()
            await until { point.isReaderParked }
            point.attach(pair.near, ownership: .owned)
            SocketPair.send(7, to: pair.far)
            #expect(await reading == .byte(7))
            point.close()
        }

        @Test func aDescriptorAttachedAfterClosingIsClosedIfOwned() throws {
            let pair = try SocketPair()
            let point = WaitPoint()
            point.close()
            point.attach(pair.near, ownership: .owned)
            #expect(SocketPair.tryRead(pair.far) == .end)
            #expect(point.descriptor == -1, "the number may have been reused")
        }

        @Test func aDescriptorAttachedAfterClosingStaysOpenIfBorrowed() throws {
            let pair = try SocketPair()
            defer { close(pair.near) }
            let point = WaitPoint()
            point.close()
            point.attach(pair.near, ownership: .borrowed)
            #expect(SocketPair.tryRead(pair.far) == .nothing)
        }

        /// The call was inside before the close, and may call `recv` with the descriptor that is attached afterwards.
        @Test func aDescriptorAttachedAfterItsReaderClosedDoesNotBlockTheReaderInside() throws {
            let pair = try SocketPair()
            let point = WaitPoint()
            #expect(point.enter(.reader) == .entered)
            point.close(.reader)
            point.attach(pair.near, ownership: .owned)
            #expect(SocketPair.tryRead(point.descriptor) == .end)  // shut down: a blocking recv would return, too
            point.leave(.reader)
            point.close()
            #expect(SocketPair.tryRead(pair.far) == .end)
        }

        /// The descriptor is neither visible to the call inside nor closed a second time when the call leaves.
        @Test func aDescriptorAttachedAfterBothClosedIsNotVisibleInside() throws {
            let pair = try SocketPair()
            let point = WaitPoint()
            #expect(point.enter(.reader) == .entered)
            point.close()
            point.attach(pair.near, ownership: .owned)
            #expect(point.descriptor == -1)
            let other = dup(0)  // most likely reuses the number
            defer { close(other) }
            point.leave(.reader)
            #expect(fcntl(other, F_GETFD) >= 0)
        }

        @Test func aPointThatWasNeverWatchedClosesWithItsLastReference() throws {
            let pair = try SocketPair()
            do { _ = WaitPoint(descriptor: pair.near, ownership: .owned) }
            #expect(SocketPair.tryRead(pair.far) == .end)
        }

        @Test func ownershipCanBeChangedAndRestored() throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            point.setOwnership(false)
            #expect(point.ownership == .borrowed)
            point.setOwnership(nil)
            #expect(point.ownership == .owned)
            point.setOwnership(false)
            point.close()
            #expect(SocketPair.tryRead(pair.far) == .nothing)
            close(pair.near)
        }

        @Test func aDetachedDescriptorStaysOpen() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            SocketPair.send(1, to: pair.far)
            #expect(await point.readByte() == .byte(1))
            _ = await point.readByte(until: .now)  // watched now
            #expect(point.detach() == pair.near)
            #expect(point.isClosed(.reader) && point.isClosed(.writer))
            #expect(SocketPair.tryRead(pair.far) == .nothing)
            #expect(SocketPair.send(2, to: pair.far) && SocketPair.tryRead(pair.near) == .byte(2))
            #expect(point.detach() == -1)

            let next = WaitPoint(descriptor: pair.near, ownership: .owned)  // can be watched again
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

        /// A point allocates nothing more before a wait has a deadline.
        @Test func takesLittleMemory() throws {
            let point = WaitPoint()
            // Not in Swift's Glibc module.
            typealias Measure = @convention(c) (UnsafeMutableRawPointer) -> Int
            let measure = unsafeBitCast(try #require(dlsym(nil, "malloc_usable_size")), to: Measure.self)
            func size(_ object: AnyObject) -> Int { measure(Unmanaged.passUnretained(object).toOpaque()) }
            #expect(size(point) <= 88)
            let deadlines = point.deadlineSlot.deadlines
            #expect(deadlines == nil)
            #expect(size(WaitDeadlines()) <= 40)
        }
    }
}
