import anchor from 'lucide/dist/esm/icons/anchor.mjs'
import apple from 'lucide/dist/esm/icons/apple.mjs'
import banana from 'lucide/dist/esm/icons/banana.mjs'
import bed from 'lucide/dist/esm/icons/bed.mjs'
import bell from 'lucide/dist/esm/icons/bell.mjs'
import bike from 'lucide/dist/esm/icons/bike.mjs'
import bird from 'lucide/dist/esm/icons/bird.mjs'
import bone from 'lucide/dist/esm/icons/bone.mjs'
import book from 'lucide/dist/esm/icons/book.mjs'
import bus from 'lucide/dist/esm/icons/bus.mjs'
import cake from 'lucide/dist/esm/icons/cake.mjs'
import camera from 'lucide/dist/esm/icons/camera.mjs'
import car from 'lucide/dist/esm/icons/car.mjs'
import carrot from 'lucide/dist/esm/icons/carrot.mjs'
import cat from 'lucide/dist/esm/icons/cat.mjs'
import cherry from 'lucide/dist/esm/icons/cherry.mjs'
import cloud from 'lucide/dist/esm/icons/cloud.mjs'
import cup from 'lucide/dist/esm/icons/coffee.mjs'
import compass from 'lucide/dist/esm/icons/compass.mjs'
import crown from 'lucide/dist/esm/icons/crown.mjs'
import dog from 'lucide/dist/esm/icons/dog.mjs'
import drum from 'lucide/dist/esm/icons/drum.mjs'
import egg from 'lucide/dist/esm/icons/egg.mjs'
import feather from 'lucide/dist/esm/icons/feather.mjs'
import fish from 'lucide/dist/esm/icons/fish.mjs'
import flag from 'lucide/dist/esm/icons/flag.mjs'
import flower from 'lucide/dist/esm/icons/flower.mjs'
import gem from 'lucide/dist/esm/icons/gem.mjs'
import ghost from 'lucide/dist/esm/icons/ghost.mjs'
import gift from 'lucide/dist/esm/icons/gift.mjs'
import glasses from 'lucide/dist/esm/icons/glasses.mjs'
import grape from 'lucide/dist/esm/icons/grape.mjs'
import guitar from 'lucide/dist/esm/icons/guitar.mjs'
import hammer from 'lucide/dist/esm/icons/hammer.mjs'
import hand from 'lucide/dist/esm/icons/hand.mjs'
import heart from 'lucide/dist/esm/icons/heart.mjs'
import house from 'lucide/dist/esm/icons/house.mjs'
import key from 'lucide/dist/esm/icons/key.mjs'
import lamp from 'lucide/dist/esm/icons/lamp.mjs'
import leaf from 'lucide/dist/esm/icons/leaf.mjs'
import magnet from 'lucide/dist/esm/icons/magnet.mjs'
import moon from 'lucide/dist/esm/icons/moon.mjs'
import mountain from 'lucide/dist/esm/icons/mountain.mjs'
import palette from 'lucide/dist/esm/icons/palette.mjs'
import piano from 'lucide/dist/esm/icons/piano.mjs'
import pizza from 'lucide/dist/esm/icons/pizza.mjs'
import plane from 'lucide/dist/esm/icons/plane.mjs'
import puzzle from 'lucide/dist/esm/icons/puzzle.mjs'
import rabbit from 'lucide/dist/esm/icons/rabbit.mjs'
import rainbow from 'lucide/dist/esm/icons/rainbow.mjs'
import rocket from 'lucide/dist/esm/icons/rocket.mjs'
import boat from 'lucide/dist/esm/icons/sailboat.mjs'
import scissors from 'lucide/dist/esm/icons/scissors.mjs'
import shell from 'lucide/dist/esm/icons/shell.mjs'
import shirt from 'lucide/dist/esm/icons/shirt.mjs'
import snail from 'lucide/dist/esm/icons/snail.mjs'
import snowflake from 'lucide/dist/esm/icons/snowflake.mjs'
import star from 'lucide/dist/esm/icons/star.mjs'
import sun from 'lucide/dist/esm/icons/sun.mjs'
import tent from 'lucide/dist/esm/icons/tent.mjs'
import palm from 'lucide/dist/esm/icons/tree-palm.mjs'
import trophy from 'lucide/dist/esm/icons/trophy.mjs'
import umbrella from 'lucide/dist/esm/icons/umbrella.mjs'
import wrench from 'lucide/dist/esm/icons/wrench.mjs'

/** The picture of each number. Devices of other versions use the same list, so its order must never change. */
export const pictures = {
  anchor,
  apple,
  banana,
  bed,
  bell,
  bike,
  bird,
  bone,
  book,
  bus,
  cake,
  camera,
  car,
  carrot,
  cat,
  cherry,
  cloud,
  cup,
  compass,
  crown,
  dog,
  drum,
  egg,
  feather,
  fish,
  flag,
  flower,
  gem,
  ghost,
  gift,
  glasses,
  grape,
  guitar,
  hammer,
  hand,
  heart,
  house,
  key,
  lamp,
  leaf,
  magnet,
  moon,
  mountain,
  palette,
  piano,
  pizza,
  plane,
  puzzle,
  rabbit,
  rainbow,
  rocket,
  boat,
  scissors,
  shell,
  shirt,
  snail,
  snowflake,
  star,
  sun,
  tent,
  trophy,
  palm,
  umbrella,
  wrench,
}

export type Picture = keyof typeof pictures
