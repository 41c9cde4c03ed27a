/// The listings of the CFNetwork Programming Guide, each written with NetKit under its number: 2-10 is
/// `CFNetworkGuide.Chapter2.listing10`.
///
/// They do what the guide's text describes. Where a listing of the guide does something else (an endless loop, a short write
/// treated as an error, lost bytes), the comment says so, and the code here is correct. `ListingTests` runs each listing against
/// a real peer.
public enum CFNetworkGuide {}
