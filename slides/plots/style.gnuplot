# Shared by all plots: grey that reads on white and on black, and one colour for each kind of figure.
set terminal svg size 960,480 dynamic noenhanced font 'sans-serif,19' background rgb 'white'
set output out
set datafile separator tab
set border 3 linecolor rgb '#5d6675'
set tics nomirror textcolor rgb '#2b3340'
set grid ytics linecolor rgb '#dfe3ea'
set key textcolor rgb '#2b3340'
blue = '#2563b8'; orange = '#c2660c'; green = '#1a7f4b'; red = '#c2303a'; grey = '#98a2b3'
